import type { Settings } from './variables.ts';

/** Where and how messages are sent; undefined: nobody is told. */
export function webhookSettings(
  settings: Pick<Settings, 'NOTIFY_URL' | 'NOTIFY_SECRET' | 'NOTIFY_FORMAT' | 'REDIS_PREFIX'>,
) {
  const { NOTIFY_URL: url, NOTIFY_SECRET: secret, NOTIFY_FORMAT: format, REDIS_PREFIX: name } = settings;
  // Deployments that share a Redis differ by their prefix; the others are told apart by where they send.
  return url === undefined ? undefined : { url, secret, format, name };
}
