import { cleanForeignText, messageOf } from '../errors.ts';
import type { Clock, Log } from '../model/ports.ts';
import type { RedisConnection } from './redis.ts';

/** One process talks with one script in Redis: one exchange at a time, whatever happens meanwhile. */
export interface Conversation {
  /** Have an exchange soon. What is wanted in the same turn of the event loop goes into one. */
  soon(): void;
  /** Have no further exchange; resolves when none is under way. */
  end(): Promise<void>;
}

export interface ConversationOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly log: Log;
  /** For the log: who talks. */
  readonly name: string;
  /** One exchange. Resolves to the time until the next is due; undefined: when `soon` is called. */
  readonly exchange: () => Promise<number | undefined>;
  /** An exchange that failed is repeated after such a time, or when Redis is back. */
  readonly retryMs?: number;
}

export function createConversation(options: ConversationOptions): Conversation {
  const { connection, clock, log, name, exchange, retryMs = 500 } = options;
  let wanted = false;
  let ended = false;
  let talking = false;
  let over: Promise<void> | undefined;
  let pause: AbortController | undefined;
  let failed = false;

  const tryExchange = async (): Promise<number | undefined> => {
    try {
      const dueMs = await exchange();
      if (failed) log.info({}, `${name} goes on`);
      failed = false;
      return dueMs;
    } catch (error) {
      if (!failed && !ended)
        log.warn({ error: cleanForeignText(messageOf(error)) }, `${name} waits for Redis`);
      failed = true;
      return retryMs;
    }
  };

  const pauseFor = async (delayMs: number): Promise<void> => {
    pause = new AbortController();
    // Rejects when an exchange is wanted before.
    await clock.sleep(delayMs, pause.signal).catch(() => {});
    pause = undefined;
  };

  const talk = async (): Promise<void> => {
    let dueMs: number | undefined = 0;
    while (!ended && dueMs !== undefined) {
      await undefined;
      if (!wanted) await pauseFor(dueMs);
      if (ended) break;
      wanted = false;
      dueMs = await tryExchange();
      if (wanted) dueMs = 0;
    }
    talking = false;
  };

  const soon = (): void => {
    wanted = true;
    pause?.abort();
    if (ended || talking) return;
    talking = true;
    over = talk();
  };
  const stopListening = connection.onReady(soon);

  return {
    soon,
    end: async () => {
      ended = true;
      stopListening();
      pause?.abort();
      await over;
    },
  };
}
