/**
 * Sessions as signed cookies: they survive restarts and are valid in every process with the same settings. The key is derived
 * from the password, or from the client's secret at the provider: when that changes, its sessions end. A browser that has
 * signed in with a password also keeps a second cookie, which admits nobody: if its address is locked out because of others,
 * the browser has attempts of its own.
 */
import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../core/model/index.ts';
import type { Right, WebAccess } from '../ports.ts';

/** How a user has signed in: with the password for reading or for acting, or at the provider. */
type Key = Right | 'provider';

export interface Session {
  readonly name: string;
  readonly right: Right;
  /** Who vouches for the name: only the user, the provider, or a proxy. */
  readonly namedBy: 'nobody' | 'provider' | 'proxy';
  /** Maximum length of a cookie. */
  readonly id?: string;
  readonly expiresAtS?: number;
}

export type Sessions = Awaited<ReturnType<typeof openSessions>>;

export const SESSION_SECONDS: number = 12 * 3_600;
const KNOWN_SECONDS = 90 * 86_400;
const KEPT_SECONDS = 900;
/** Browsers send a few kilobytes at most. */
const MAX_COOKIES = 64;
/** It takes about 0.1 s and 32 MB, once per process and password. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 };
const derive = promisify<string, string, number, typeof COST, Buffer>(scrypt);

export async function openSessions(access: WebAccess, clock: Pick<Clock, 'nowMs'>) {
  const passwords = { read: access.readPassword, act: access.actPassword };
  const lake = digest(access.lakeUrl);
  // Cookies are by host, not by port: two lakes' pages on one host must not overwrite each other's.
  const cookie = `vessel-export-${lake.toString('hex').slice(0, 8)}`;
  const keys = await deriveKeys(access, lake.toString('hex'));

  const nowS = () => Math.floor(clock.nowMs() / 1_000);
  const sign = (key: Key, text: string) =>
    createHmac('sha256', keys.get(key)!).update(text).digest('base64url');
  const set = (name: string, value: string, seconds: number, isSecure: boolean, more: string) =>
    `${name}=${value}; Max-Age=${seconds}; HttpOnly; ${more}${isSecure ? '; Secure' : ''}`;
  /** `key.expires.text.signature`; the name is signed too. */
  const seal = (name: string, key: Key, expiresAtS: number, text: string) => {
    const signed = `${key}.${expiresAtS}.${Buffer.from(text).toString('base64url')}`;
    return `${signed}.${sign(key, `${name} ${signed}`)}`;
  };
  function* unsealed(name: string, cookies = '') {
    for (const pair of cookies.split(';', MAX_COOKIES)) {
      const [found, value = ''] = pair.trim().split('=', 2);
      const [, key, expires, text, signature] =
        (found === name && /^(read|act|provider)\.(\d{1,12})\.([\w-]{1,2000})\.([\w-]{43})$/.exec(value)) ||
        [];
      if (!keys.has(key as Key)) continue;
      const expected = sign(key as Key, `${name} ${key}.${expires}.${text}`);
      if (!timingSafeEqual(Buffer.from(signature!), Buffer.from(expected))) continue;
      if (Number(expires) <= nowS()) continue;
      const plain = Buffer.from(text!, 'base64url').toString('utf8');
      yield { key: key as Key, expiresAtS: Number(expires), text: plain };
    }
  }
  const [known, kept] = [`${cookie}-known`, `${cookie}-kept`];
  const ofSession = 'Path=/; SameSite=Strict';
  const ofSigningIn = 'Path=/api/session; SameSite=Strict';
  // The browser comes back from another site.
  const ofReturning = 'Path=/api/session; SameSite=Lax';

  return {
    /** The right that a password gives; undefined: none. It takes the same time for every password. */
    rightOf(password: string): Right | undefined {
      const given = digest(password);
      const fits = (right: Right) => timingSafeEqual(given, digest(passwords[right] ?? ''));
      const [mayAct, mayRead] = [fits('act'), fits('read')];
      if (mayAct && passwords.act !== undefined) return 'act';
      return mayRead && passwords.read !== undefined ? 'read' : undefined;
    },
    /** `Set-Cookie` of a session that begins now, or `notBeforeS`. `isSecure`: the browser reached us by https. */
    begin({ name, right, namedBy }: Session, isSecure: boolean, notBeforeS = 0): string {
      const expiresAtS = Math.max(nowS(), notBeforeS) + SESSION_SECONDS;
      const id = randomBytes(12).toString('base64url');
      const key = namedBy === 'provider' ? 'provider' : right;
      const value = seal(cookie, key, expiresAtS, `${right} ${id} ${name}`);
      return set(cookie, value, SESSION_SECONDS, isSecure, ofSession);
    },
    /** `Set-Cookie` that takes the cookie away. */
    end: () => `${cookie}=; Max-Age=0; ${ofSession}`,
    /** The session in a `Cookie` header; undefined if it has none that we signed, or if it has expired. */
    read(cookies: string | undefined): Session | undefined {
      const [found] = unsealed(cookie, cookies);
      if (found === undefined) return undefined;
      const [right, id, ...name] = found.text.split(' ') as [Right, string, ...string[]];
      const namedBy = found.key === 'provider' ? found.key : 'nobody';
      return { name: name.join(' '), right, namedBy, id, expiresAtS: found.expiresAtS };
    },
    /** `Set-Cookie` that remembers a browser that has signed in with the password of a right. */
    know(right: Right, isSecure: boolean): string {
      const value = seal(known, right, nowS() + KNOWN_SECONDS, randomBytes(12).toString('base64url'));
      return set(known, value, KNOWN_SECONDS, isSecure, ofSigningIn);
    },
    /** Reads that cookie: the password that the browser may try, and the name by which its attempts are counted. */
    readKnown(cookies: string | undefined) {
      for (const { key, text } of unsealed(known, cookies))
        if (key !== 'provider') return { right: key, id: text };
      return undefined;
    },
    /** `Set-Cookie` of a text that the browser keeps while it is at the provider, and the text from it. */
    keep(text: string, isSecure: boolean): string {
      const value = seal(kept, 'provider', nowS() + KEPT_SECONDS, text);
      return set(kept, value, KEPT_SECONDS, isSecure, ofReturning);
    },
    readKept(cookies: string | undefined): string | undefined {
      const [found] = unsealed(kept, cookies);
      return found?.text;
    },
  };
}

/** Keys of the passwords and the provider that are set. The rights of groups are part of the provider's key, because its sessions contain rights. */
async function deriveKeys({ readPassword, actPassword, named }: WebAccess, lake: string) {
  const { provider, readGroups, actGroups } = named ?? {};
  const agreed = provider && JSON.stringify([provider.issuer, provider.clientId, readGroups, actGroups]);
  const secrets: readonly [Key, string | undefined, string][] = [
    ['read', readPassword, ''],
    ['act', actPassword, ''],
    ['provider', provider?.clientSecret, ` ${agreed}`],
  ];
  const keys = new Map<Key, Buffer>();
  for (const [key, secret, more] of secrets) {
    if (secret === undefined) continue;
    keys.set(key, await derive(secret, `vessel-export page ${key} ${lake}${more}`, 32, COST));
  }
  return keys;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
