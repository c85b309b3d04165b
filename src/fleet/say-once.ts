/** What goes wrong again and again is said once, until it has gone well. */
import type { VesselExportError } from '../errors.ts';
import { messageOf } from '../errors.ts';
import { withoutRequestIds } from '../fetch/trace.ts';
import type { Log } from '../model/index.ts';

/** Do `work`; its error is logged as `<failed>: <message>`, not thrown. Throws only when the signal is aborted. */
export type Guard = (
  what: string,
  signal: AbortSignal,
  work: () => Promise<void>,
  failed?: string,
) => Promise<void>;

interface Guarded {
  readonly guard: Guard;
  /** What went wrong the last time it was tried, if anything: the first of all that did. */
  readonly trouble: string | undefined;
  /** It is not tried any more; without a name, nothing is. */
  forget(what?: string): void;
}

/** `onFailure` is told of each failure, also of those that are not said again. */
export function createGuard(log: Log, onFailure: () => void = () => {}): Guarded {
  const said = new Map<string, string>();
  return {
    async guard(what, signal, work, failed = 'cannot plan now') {
      try {
        await work();
        said.delete(what);
      } catch (error) {
        if (signal.aborted) throw error;
        onFailure();
        const text = `${failed}: ${messageOf(error)}`;
        // Each try names a request of its own.
        const news = withoutRequestIds(text);
        if (said.get(what) !== news) log.error({ what, code: (error as VesselExportError).code }, text);
        said.set(what, news);
      }
    },
    get trouble() {
      const [first] = said;
      return first && `${first[0]}: ${first[1]}`;
    },
    forget(what) {
      if (what === undefined) said.clear();
      else said.delete(what);
    },
  };
}
