/**
 * Logins with a name and a secret, and what slows down those who guess: at the service's token endpoint and at the page.
 *
 * Failures are counted by address and name together, by address, and by name:
 * - Some tries are free; each failure beyond them locks the address out of that name, twice as long as the one before.
 * - One address that fails under many names is locked out of all, but of those that it has entered before.
 * - A name that fails from everywhere leaves other addresses one free try instead of several. It is never locked as
 *   such: who has the right secret gets in from wherever nobody has guessed.
 * While locked out nothing is compared, so that a right guess tells nothing. A secret that was refused a moment ago and
 * comes again is no new guess: a client with a wrong setting is told so, as often as it asks.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { cleanForeignText } from './errors.ts';
import type { Clock, Log } from './model/index.ts';
import { percentDecoded } from './model/web-address.ts';

export interface Login {
  readonly name: string;
  readonly secret: string;
}

type LoginOutcome<T> =
  | { readonly state: 'accepted'; readonly value: T }
  | { readonly state: 'wrong' }
  | { readonly state: 'locked'; readonly retryAfterSeconds: number };

const FREE_FAILURES = 10;
const FREE_FAILURES_OF_ADDRESS = 50;
/** After so many failures of a name, over all addresses, one is free. */
const MANY_FAILURES_OF_NAME = 100;
const FIRST_LOCK_MS = 1_000;
const MAX_LOCK_MS = 300_000;
/** Failures are forgotten so long after the last; who got in is known for longer. */
const FORGET_MS = 900_000;
const KNOWN_MS = 86_400_000;
const MAX_RECORDS = 10_000;
const MAX_LOGGED_PER_MINUTE = 60;

/** Bounds the lines of a log that strangers can cause. Undefined: this one is left out; the next says how many were. */
export function createLineBound(clock: Pick<Clock, 'monotonicMs'>) {
  let [minute, lines, omitted] = [0, 0, 0];
  return (): { readonly notLogged?: number } | undefined => {
    const now = Math.floor(clock.monotonicMs() / 60_000);
    if (minute !== now) [minute, lines] = [now, 0];
    if (lines >= MAX_LOGGED_PER_MINUTE) return void omitted++;
    const notLogged = omitted;
    [lines, omitted] = [lines + 1, 0];
    return notLogged > 0 ? { notLogged } : {};
  };
}
const MAX_NAME_CHARS = 64;

interface LoginGuardOptions {
  readonly where: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
  /** Not to be logged, should one of them be sent as a name. */
  readonly secrets: readonly string[];
  /** Records kept of each kind; beyond that those that nobody has used for longest go. Absent: 10,000. */
  readonly maxRecords?: number;
  readonly onFailure?: (state: 'wrong' | 'locked') => void;
}

interface LoginRecord {
  failures: number;
  lastMs: number;
  lockedUntilMs: number;
  /** Keyed digest of the secret that was refused last. */
  refused?: Buffer;
  acceptedMs?: number;
}

export function createLoginGuard(options: LoginGuardOptions) {
  const { where, clock, log, secrets, maxRecords = MAX_RECORDS, onFailure } = options;
  const key = randomBytes(32);
  const pairs = createRecords(maxRecords);
  const addresses = createRecords(maxRecords);
  const names = createRecords(maxRecords);
  const bound = createLineBound(clock);
  let failed = 0;

  /** Equal lengths, and of no use without this process. */
  const digest = (text: string) => createHmac('sha256', key).update(text).digest();

  /** One line a failure that was compared, but a bounded number a minute; never what was tried. */
  function tell(
    address: string,
    name: string,
    { failures, lockedUntilMs }: LoginRecord,
    nowMs: number,
  ): void {
    const omitted = bound();
    if (omitted === undefined) return;
    const lockedSeconds = Math.max(0, Math.ceil((lockedUntilMs - nowMs) / 1_000));
    const shown = cleanForeignText(name, secrets, MAX_NAME_CHARS);
    const fields = { address, name: shown, failures, lockedSeconds, failuresSinceStart: failed, ...omitted };
    log.warn(fields, `a login failed at ${where}`);
  }

  return {
    /** What `compare` gives is accepted; undefined is a failure. It is not called while the address is locked out. */
    attempt<T>(address: string, login: Login, compare: () => T | undefined): LoginOutcome<T> {
      const nowMs = clock.monotonicMs();
      const name = digest(login.name).toString('base64');
      const pair = `${address} ${name}`;
      const ofPair = pairs.at(pair, nowMs);
      const ofAddress = addresses.at(address, nowMs);
      const addressUntilMs = ofPair.acceptedMs === undefined ? ofAddress.lockedUntilMs : 0;
      const lockedUntilMs = Math.max(ofPair.lockedUntilMs, addressUntilMs);
      if (lockedUntilMs > nowMs) {
        failed += 1;
        onFailure?.('locked');
        return { state: 'locked', retryAfterSeconds: Math.ceil((lockedUntilMs - nowMs) / 1_000) };
      }
      const value = compare();
      if (value !== undefined) {
        pairs.keep(pair, { failures: 0, lastMs: nowMs, lockedUntilMs: 0, acceptedMs: nowMs });
        return { state: 'accepted', value };
      }
      const refused = digest(login.secret);
      if (ofPair.refused === undefined || !timingSafeEqual(ofPair.refused, refused)) {
        ofPair.refused = refused;
        const ofName = names.at(name, nowMs);
        punish(ofName, Number.POSITIVE_INFINITY, nowMs);
        punish(ofPair, ofName.failures > MANY_FAILURES_OF_NAME ? 1 : FREE_FAILURES, nowMs);
        punish(ofAddress, FREE_FAILURES_OF_ADDRESS, nowMs);
        names.keep(name, ofName);
        pairs.keep(pair, ofPair);
        addresses.keep(address, ofAddress);
      }
      failed += 1;
      onFailure?.('wrong');
      tell(address, login.name, ofPair, nowMs);
      return { state: 'wrong' };
    },
  };
}

function punish(record: LoginRecord, free: number, nowMs: number): void {
  record.failures += 1;
  record.lastMs = nowMs;
  const beyond = record.failures - free;
  if (beyond > 0) record.lockedUntilMs = nowMs + Math.min(MAX_LOCK_MS, FIRST_LOCK_MS * 2 ** (beyond - 1));
}

/** So many records; those of long ago begin anew. */
function createRecords(max: number) {
  const records = new Map<string, LoginRecord>();
  return {
    /** The record of a key, or a new one that nobody keeps: who is locked out adds none. */
    at(key: string, nowMs: number): LoginRecord {
      const record = records.get(key);
      if (record !== undefined && nowMs - record.lastMs <= FORGET_MS) return record;
      const anew = { failures: 0, lastMs: nowMs, lockedUntilMs: 0 };
      const { acceptedMs } = record ?? {};
      return acceptedMs !== undefined && nowMs - acceptedMs <= KNOWN_MS ? { ...anew, acceptedMs } : anew;
    },
    keep(key: string, record: LoginRecord): void {
      records.delete(key);
      records.set(key, record);
      if (records.size > max) records.delete(records.keys().next().value!);
    },
  };
}

/** Name and secret of an `Authorization: Basic …` header, as they are and form-decoded (RFC 6749 §2.3.1) where that differs. */
export function readBasic(header: string | undefined): Login[] {
  const match = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(header ?? '');
  if (!match) return [];
  const pair = Buffer.from(match[1]!, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return [];
  const plain = { name: pair.slice(0, colon), secret: pair.slice(colon + 1) };
  const [name, secret] = [formDecoded(plain.name), formDecoded(plain.secret)];
  if (name === undefined || secret === undefined) return [plain];
  return name === plain.name && secret === plain.secret ? [plain] : [plain, { name, secret }];
}

/** Text of `application/x-www-form-urlencoded`; undefined for what is none. */
export function formDecoded(text: string): string | undefined {
  return percentDecoded(text.replaceAll('+', '%20'));
}

/** Whom limits count as one: an IPv4 address, or the first 64 bits of an IPv6 address. Empty for a connection that has gone. */
export function clientAddress(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(address) || address === '::1') return address;
  const [before = '', after] = address.split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after ? after.split(':') : [];
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length;
  const levels = [...head, ...Array<string>(zeros).fill('0'), ...tail];
  return `${levels.slice(0, 4).join(':')}::/64`;
}
