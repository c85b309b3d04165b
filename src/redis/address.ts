/** Where Redis is: its address with the password, the address that may be shown, and the errors that name it. */
import { ConfigError, cleanForeignText, messageOf, RetriableError } from '../core/errors.ts';
import { isRedisUrl, maskUrl, percentDecoded, REDIS_URL_RULE } from '../core/model/web-address.ts';

export interface RedisLogin {
  readonly url: string;
  /** Used if the URL has no password. */
  readonly password?: string | undefined;
}

/** ioredis reads a URL with a name but no password as password '', which wins over others: so the password goes into the URL. */
export function withPassword({ url, password }: RedisLogin): string {
  if (!password || !URL.canParse(url)) return url;
  const whole = new URL(url);
  whole.password = encodeURIComponent(password);
  return whole.href;
}

export type Address = ReturnType<typeof addressOf>;

/** Where Redis is, as it may be shown, and what is said of it: without our secrets. */
export function addressOf(url: string, targetNow: () => string) {
  const shown = cleanForeignText(maskUrl(url));
  if (!isRedisUrl(url))
    throw new ConfigError('redis-url', `REDIS_URL: got '${shown}', expected ${REDIS_URL_RULE}`);
  const secretsOf = (target: string) => {
    const { password } = new URL(target);
    return password === '' ? [] : [password, percentDecoded(password) ?? password];
  };
  // Node reports several addresses that refuse as one error without a message.
  const messagesOf = (error: unknown) =>
    error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error);
  const why = (error: unknown) => cleanForeignText(messagesOf(error), [url, targetNow()].flatMap(secretsOf));
  const at = `REDIS_URL: Redis at ${shown}`;
  return {
    ...{ shown, at, why },
    refused(error: unknown): ConfigError {
      const text = `${at} refuses the credentials or the database: ${why(error)}`;
      return new ConfigError('redis-refused', `${text}; check REDIS_URL and REDIS_PASSWORD`);
    },
    /** `error`: undefined if there was no reply. */
    unreachable(error?: unknown): RetriableError {
      const text = `${at} is out of reach: ${error === undefined ? 'no answer' : why(error)}`;
      return new RetriableError('redis-unreachable', `${text}; check the address and that it runs`);
    },
  };
}
