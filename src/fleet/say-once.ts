/** What goes wrong again and again is said once, until it has gone well. */
import type { VesselExportError } from '../errors.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../model/index.ts';

/** Do `work`; its error is logged as `<failed>: <message>`, not thrown. Throws only when the signal is aborted. */
export type Guard = (
  what: string,
  signal: AbortSignal,
  work: () => Promise<void>,
  failed?: string,
) => Promise<void>;

export function createGuard(log: Log): Guard {
  const said = new Map<string, string>();
  return async (what, signal, work, failed = 'cannot plan now') => {
    try {
      await work();
      said.delete(what);
    } catch (error) {
      if (signal.aborted) throw error;
      const message = messageOf(error);
      if (said.get(what) !== message)
        log.error({ what, code: (error as VesselExportError).code }, `${failed}: ${message}`);
      said.set(what, message);
    }
  };
}
