/** Which vessel-day an address means. */
import { shortName } from '../core/errors.ts';
import type { Job, VesselDay } from '../core/model/index.ts';
import { isDate, VESSEL_ID } from '../core/model/index.ts';
import { WebError } from './web-error.ts';

export interface DayParams {
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
}

/** Throws WebError 404 `no-such-job`, `no-such-vessel`, `no-such-date`, saying what was expected. */
export function dayOf(
  jobs: readonly Job[],
  params: DayParams,
): { readonly job: Job; readonly day: VesselDay } {
  const job = jobs.find(({ name }) => name === params.job);
  if (job === undefined) {
    const known = jobs.map(({ name }) => name).join(', ') || 'none';
    throw new WebError(
      404,
      'no-such-job',
      `there is no job '${shortName(params.job)}' here; there are: ${known}`,
    );
  }
  if (!VESSEL_ID.test(params.vessel))
    throw new WebError(
      404,
      'no-such-vessel',
      `'${shortName(params.vessel)}' is no vessel: expected IMO and seven digits, such as IMO9321483`,
    );
  if (!isDate(params.date))
    throw new WebError(
      404,
      'no-such-date',
      `'${shortName(params.date)}' is no date: expected a day of the calendar, YYYY-MM-DD`,
    );
  return { job, day: { job: job.name, vessel: params.vessel, date: params.date } };
}
