/** Waiting in scripts that take minutes: they say what for, and come to an end. */
import { setTimeout as sleep } from 'node:timers/promises';

const SAY_MS = 60_000;
/** For so long a fleet under chaos publishes nothing only where it never will again: a claim is stale after one minute. */
const GIVE_UP_MS = 300_000;

interface Watching {
  /** What is waited for, and how far it is: once that has not changed for five minutes it is given up. */
  readonly howFar: () => Promise<string>;
  /** What may tell why. */
  readonly lastWords: () => string;
  readonly say: (line: string) => void;
}

/** As `work` ends. Says how far it is every minute; rejects where it goes no further. */
export async function watched<T>(work: Promise<T>, { howFar, lastWords, say }: Watching): Promise<T> {
  const over = new AbortController();
  const watch = async (): Promise<never> => {
    for (let [last, sinceMs] = ['', performance.now()]; ; ) {
      await sleep(SAY_MS, undefined, { signal: over.signal });
      const now = await howFar();
      if (now !== last) [last, sinceMs] = [now, performance.now()];
      say(`waiting for ${now}`);
      if (performance.now() - sinceMs >= GIVE_UP_MS)
        throw new Error(`no step in ${GIVE_UP_MS / 60_000} minutes, waiting for ${now}\n${lastWords()}`);
    }
  };
  const watching = watch();
  watching.catch(() => {});
  work.catch(() => {});
  return await Promise.race([work, watching]).finally(() => over.abort());
}

/** The last lines that a process has said. */
export function tailOf(output: string): string {
  return output.trimEnd().split('\n').slice(-3).join('\n');
}
