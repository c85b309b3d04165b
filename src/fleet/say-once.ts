/** What goes wrong again and again is said once, until it has gone well; of what goes wrong often only the first are said. */
import { codeOf, messageOf } from '../core/errors.ts';
import type { Log } from '../core/model/index.ts';
import { withoutRequestIds } from '../source/fetch/address.ts';

export type Guard = ReturnType<typeof createGuard>['guard'];

/** `onFailure` is told of each failure, also of those that are not said again. */
export function createGuard(log: Log, onFailure: () => void = () => {}) {
  const said = new Map<string, { readonly news: string; readonly code: string }>();
  return {
    /** Do `work`; its error is logged as `<failed>: <message>`, not thrown. Throws only when the signal is aborted. */
    async guard(
      what: string,
      signal: AbortSignal,
      work: () => Promise<void>,
      failed = 'cannot plan now',
    ): Promise<void> {
      try {
        await work();
        said.delete(what);
      } catch (error) {
        if (signal.aborted) throw error;
        onFailure();
        const text = `${failed}: ${messageOf(error)}`;
        // Each try names a request of its own.
        const news = withoutRequestIds(text);
        const code = codeOf(error);
        if (said.get(what)?.news !== news) log.error({ what, code }, text);
        said.set(what, { news, code });
      }
    },
    /** The code of what went wrong last, if anything. Anybody may read it; the message is the log's. */
    get trouble(): string | undefined {
      const [first] = said.values();
      return first && `cannot plan: ${first.code}`;
    },
    /** It is not tried any more; without a name, nothing is. */
    forget(what?: string): void {
      if (what === undefined) said.clear();
      else said.delete(what);
    },
  };
}

/** Lines of one kind; the rest is counted. */
const SAID_AT_MOST = 20;

export function warnOfFew(log: Log, job: string, text: string, troubles: readonly object[]): void {
  for (const trouble of troubles.slice(0, SAID_AT_MOST)) log.warn(trouble, text);
  const more = troubles.length - SAID_AT_MOST;
  if (more > 0) log.warn({ job, more }, text);
}
