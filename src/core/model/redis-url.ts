/** What the address of a Redis must be, in words. */
export const REDIS_URL_RULE = 'redis://[user:password@]host[:port][/database], or rediss:// for TLS';

/** Is it one, with a name and a password that can be decoded? */
export function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}
