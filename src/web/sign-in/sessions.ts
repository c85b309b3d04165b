/**
 * Who has signed in, as a signed cookie: it holds over restarts and in every process with the same settings. The key is
 * derived from the password that was given, or from what is agreed with the provider: once that is changed, its sessions
 * have ended. Beside it a browser that was let in with a password keeps another cookie, which lets nobody in: where its
 * address is locked out for what others have tried, it has tries of its own.
 */
import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../core/model/index.ts';
import type { Right, WebAccess } from '../ports.ts';

/** How somebody was let in: by the password for reading or for acting, or by the provider. */
type Key = Right | 'provider';

export interface Session {
  readonly name: string;
  readonly right: Right;
  /** Who says that this is their name: they alone, the provider, or a proxy. */
  readonly namedBy: 'nobody' | 'provider' | 'proxy';
  /** Of a cookie. */
  readonly id?: string;
  readonly expiresAtS?: number;
}

export type Sessions = Awaited<ReturnType<typeof openSessions>>;

export const SESSION_SECONDS: number = 12 * 3_600;
const KNOWN_SECONDS = 90 * 86_400;
const KEPT_SECONDS = 900;
/** Browsers send a few kilobytes at most. */
const MAX_COOKIES = 64;
/** About 0.1 s and 32 MB, once a process and password. */
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
  // It is another site that the browser comes back from.
  const ofReturning = 'Path=/api/session; SameSite=Lax';

  return {
    /** The right that a password gives; undefined: none. Takes the same time for every password. */
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
    /** Of a `Cookie` header; undefined where it has none that we signed, or one that has expired. */
    read(cookies: string | undefined): Session | undefined {
      const [found] = unsealed(cookie, cookies);
      if (found === undefined) return undefined;
      const [right, id, ...name] = found.text.split(' ') as [Right, string, ...string[]];
      const namedBy = found.key === 'provider' ? found.key : 'nobody';
      return { name: name.join(' '), right, namedBy, id, expiresAtS: found.expiresAtS };
    },
    /** `Set-Cookie` of a browser that was let in with the password of a right. */
    know(right: Right, isSecure: boolean): string {
      const value = seal(known, right, nowS() + KNOWN_SECONDS, randomBytes(12).toString('base64url'));
      return set(known, value, KNOWN_SECONDS, isSecure, ofSigningIn);
    },
    /** The same, read: the password that it may try, and by which name its tries are counted. */
    readKnown(cookies: string | undefined) {
      for (const { key, text } of unsealed(known, cookies))
        if (key !== 'provider') return { right: key, id: text };
      return undefined;
    },
    /** `Set-Cookie` of a text that the browser brings back from the provider, and the text. */
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

/** Those of what is set. Which groups may do what is part of the provider's: it is what its sessions say. */
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
