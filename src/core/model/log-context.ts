/** What the lines of a log have in common while something is done. It follows the calls, so that no line is without it. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Names are those of docs/monitoring.md. */
interface LogFields {
  vesselDay?: string;
  epoch?: number;
  requestId?: string;
  traceId?: string;
}

const storage = new AsyncLocalStorage<LogFields>();

/** Do `work`; every line that it logs has these fields beside those that are there already. */
export function withLogFields<T>(fields: LogFields, work: () => T): T {
  return storage.run({ ...storage.getStore(), ...fields }, work);
}

/** The same for a vessel-day; who is within it already stays there, so that what is added on the way is seen outside too. */
export function withinVesselDay<T>(vesselDay: string, work: () => T): T {
  return storage.getStore()?.vesselDay === vesselDay ? work() : withLogFields({ vesselDay }, work);
}

/** Adds fields that are only known on the way to the lines of what is being done. */
export function addLogFields(fields: LogFields): void {
  Object.assign(storage.getStore() ?? {}, fields);
}

/** The fields of a line that is logged now; the caller's to change. */
export function currentLogFields(): LogFields {
  return { ...storage.getStore() };
}
