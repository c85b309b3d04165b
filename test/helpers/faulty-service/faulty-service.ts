/** The real query service with faults, an overlay on its data, and a journal of its requests. */
import type { DataSource } from '../../../src/service/data/source.ts';
import type { Body, Exchange, ServedRequest } from '../../../src/service/hooks.ts';
import { HttpError } from '../../../src/service/http/http-error.ts';
import type { RunningService, ServiceOptions } from '../../../src/service/options.ts';
import { startService } from '../../../src/service/service.ts';
import { clientGone, faultyBody, wholeBody } from './body-faults.ts';
import type { FaultPort } from './faults.ts';
import { Overlay, withOverlay } from './overlay.ts';
import { faultySource, refuseByFault } from './request-faults.ts';
import { RequestJournal } from './request-journal.ts';

export interface FaultyServiceOptions extends Omit<ServiceOptions, 'hooks'> {
  /** What goes wrong with which request. */
  readonly faults?: FaultPort | undefined;
}

export interface FaultyService extends RunningService {
  /** Changes what is served from now on. */
  readonly overlay: Overlay;
  /** Requests seen so far, oldest first. */
  readonly requests: readonly ServedRequest[];
  /** Series that nobody can see from now on, as if the credentials could not read them. */
  readonly hiddenSeries: Set<string>;
}

/** As `startService`. */
export async function startFaultyService({
  faults,
  ...options
}: FaultyServiceOptions): Promise<FaultyService> {
  const overlay = new Overlay();
  const journal = new RequestJournal();
  const hiddenSeries = new Set<string>();

  async function intercept({ request, reply, body }: Exchange): Promise<Body> {
    const { family, method, range } = request;
    const url = reply.request.raw.url!;
    const fault = faults?.({ family, method, url, range, n: journal.numberOf(request) });
    refuseByFault(fault, range, () => service.revokeTokens());
    if (fault?.kind === 'garbage') {
      if (fault.contentType !== undefined) reply.type(fault.contentType);
      return wholeBody(fault.body);
    }
    if (family === 'token') return body();
    if (fault?.kind === 'api-version') {
      if (fault.value === undefined) reply.removeHeader('api-version');
      else reply.header('api-version', fault.value);
    }
    if (fault?.kind === 'date') {
      if (!fault.value) reply.raw.sendDate = false;
      else reply.header('date', fault.value);
    }
    if (fault?.kind === 'stall' && fault.at === 'headers') {
      await clientGone(reply.raw);
      throw new HttpError(408, 'the client has gone');
    }
    const answer = await body((source) => faultySource(withOverlay(source, overlay), fault, family));
    return faultyBody(answer, fault, reply.raw);
  }

  const watchData = (data: DataSource): DataSource => ({
    get series() {
      if (hiddenSeries.size === 0) return data.series;
      return data.series.filter(({ timeSeriesId }) => !hiddenSeries.has(timeSeriesId));
    },
    read: (...asked) => data.read(...asked),
  });
  const hooks = { observe: (request: ServedRequest) => journal.add(request), intercept, watchData };
  const service = await startService({ ...options, hooks });
  return Object.assign(service, { overlay, hiddenSeries, requests: journal.list });
}
