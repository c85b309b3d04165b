/** The service's clock as a witness of whether a day is over. */
import { NotDueError } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import { isDueByService, untilDueMs } from '../core/plan/due.ts';
import type { ExportPorts } from './ports.ts';

/** Why a vessel-day is not due by the service's clock; undefined where it is, or nobody knows. */
export function whyNotDue(
  { client, clock }: Pick<ExportPorts, 'client' | 'clock'>,
  job: Job,
  date: string,
): NotDueError | undefined {
  const serverMs = client.serverNowMs();
  if (serverMs === undefined || isDueByService(job, date, serverMs)) return undefined;
  const minutes = Math.round((serverMs - clock.nowMs()) / 60_000);
  const apart = `${Math.abs(minutes)} minutes ${minutes < 0 ? 'behind' : 'ahead of'} this machine's`;
  return new NotDueError(
    `${date} is not due by the clock of the query service, which is ${apart}; set this machine's clock right, or tell the operator of the service`,
    untilDueMs(job, date, serverMs),
  );
}

/** Throws NotDueError where the service says that the day is not over. */
export function checkDue(ports: ExportPorts, job: Job, date: string): void {
  const reason = whyNotDue(ports, job, date);
  if (reason !== undefined) throw reason;
}
