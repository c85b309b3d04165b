/** Logs a repeated failure once, until it succeeds again; of many failures of one kind it logs only the first few. */
import { codeOf, messageOf } from '../core/errors.ts';
import type { Log } from '../core/model/index.ts';
import { withoutRequestIds } from '../source/fetch/address.ts';

export type Guard = ReturnType<typeof createGuard>['guard'];

/** `onFailure` is called for each failure, including those that are not logged again. */
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
        // Each attempt names another request.
        const news = withoutRequestIds(text);
        const code = codeOf(error);
        if (said.get(what)?.news !== news) log.error({ what, code }, text);
        said.set(what, { news, code });
      }
    },
    /** The code of the last failure, if any. Anyone may read it; the message is only logged. */
    get trouble(): string | undefined {
      const [first] = said.values();
      return first && `cannot plan: ${first.code}`;
    },
    /** Forget a failure, because it is not tried any more; without a name, forget all. */
    forget(what?: string): void {
      if (what === undefined) said.clear();
      else said.delete(what);
    },
  };
}

/** Maximum of lines of one kind; the rest is counted. */
const SAID_AT_MOST = 20;

export function warnOfFew(log: Log, job: string, text: string, troubles: readonly object[]): void {
  for (const trouble of troubles.slice(0, SAID_AT_MOST)) log.warn(trouble, text);
  const more = troubles.length - SAID_AT_MOST;
  if (more > 0) log.warn({ job, more }, text);
}
