/**
 * Who has signed in, as a signed cookie: nothing is kept here, so that it holds over restarts and in every process with
 * the same password. The key of a signature is derived from the password that was given: a password that is changed ends
 * the sessions that began with it. Signing out takes the cookie away; a copy of it would hold until it expires.
 */
import { createHash, createHmac, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../model/index.ts';
import type { WebAccess } from './ports.ts';

/** Someone who may act may read too. */
type Right = 'read' | 'act';

export interface Session {
  /** Cleaned. */
  readonly name: string;
  readonly right: Right;
}

export interface Sessions {
  /** The right that a password gives; undefined: none. Takes the same time for every password. */
  rightOf(password: string): Right | undefined;
  /** `Set-Cookie` of a session that begins now. `isSecure`: the browser reached us by https. */
  begin(session: Session, isSecure: boolean): string;
  /** `Set-Cookie` that takes the cookie away. */
  end(): string;
  /** Of a `Cookie` header; undefined where it has none that we signed, or one that has expired. */
  read(cookies: string | undefined): Session | undefined;
}

const SESSION_SECONDS = 12 * 3_600;
const SHAPE = /^(read|act)\.(\d{1,12})\.([\w-]{1,500})\.([\w-]{43})$/;
/** Browsers send a few kilobytes at most. */
const MAX_COOKIES = 64;
/** About 0.1 s and 32 MB, once a process and password. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 };
const derive = promisify<string, string, number, typeof COST, Buffer>(scrypt);

/** Derives the keys. */
export async function openSessions(access: WebAccess, clock: Pick<Clock, 'nowMs'>): Promise<Sessions> {
  const passwords = { read: access.readPassword, act: access.actPassword };
  const lake = digest(access.lakeUrl);
  // Cookies are by host, not by port: two lakes' pages on one host must not overwrite each other's.
  const cookie = `vessel-export-${lake.toString('hex').slice(0, 8)}`;
  const keys = new Map<Right, Buffer>();
  for (const right of ['read', 'act'] as const) {
    const password = passwords[right];
    if (password === undefined) continue;
    keys.set(right, await derive(password, `vessel-export page ${right} ${lake.toString('hex')}`, 32, COST));
  }
  const sign = (right: Right, text: string) =>
    createHmac('sha256', keys.get(right)!).update(text).digest('base64url');
  const attributes = 'Path=/; HttpOnly; SameSite=Strict';

  return {
    rightOf(password) {
      const given = digest(password);
      const fits = (right: Right) => timingSafeEqual(given, digest(passwords[right] ?? ''));
      const [mayAct, mayRead] = [fits('act'), fits('read')];
      if (mayAct && passwords.act !== undefined) return 'act';
      return mayRead && passwords.read !== undefined ? 'read' : undefined;
    },
    begin({ name, right }, isSecure) {
      const expiresAt = Math.floor(clock.nowMs() / 1_000) + SESSION_SECONDS;
      const text = `${right}.${expiresAt}.${Buffer.from(name).toString('base64url')}`;
      const value = `${text}.${sign(right, text)}`;
      return `${cookie}=${value}; Max-Age=${SESSION_SECONDS}; ${attributes}${isSecure ? '; Secure' : ''}`;
    },
    end: () => `${cookie}=; Max-Age=0; ${attributes}`,
    read(cookies = '') {
      for (const pair of cookies.split(';', MAX_COOKIES)) {
        const [name, value = ''] = pair.trim().split('=', 2);
        const parts = name === cookie ? SHAPE.exec(value) : null;
        if (parts === null) continue;
        const [, right, expiresAt, named, signature] = parts as unknown as [
          ...[string, Right, string, string, string],
        ];
        if (!keys.has(right)) continue;
        const expected = sign(right, `${right}.${expiresAt}.${named}`);
        if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) continue;
        if (Number(expiresAt) * 1_000 <= clock.nowMs()) continue;
        return { name: Buffer.from(named, 'base64url').toString('utf8'), right };
      }
      return undefined;
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
