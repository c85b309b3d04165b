import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddress, createLoginGuard, readBasic } from '../../src/core/logins.ts';
import { silentLog } from '../../src/core/model/index.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

const RIGHT = 'the right secret';
const NAME = 'reader';
const MINUTES_15 = 15 * 60_000;

function newGuard(secrets: readonly string[] = []) {
  const clock = createManualClock();
  const lines: (object & { msg: string })[] = [];
  const failures: string[] = [];
  const guard = createLoginGuard({
    where: 'the door',
    clock,
    log: { ...silentLog, warn: (fields, msg) => void lines.push({ ...fields, msg }) },
    secrets,
    maxRecords: 400,
    onFailure: (state) => void failures.push(state),
  });
  let compared = 0;
  const attempt = (address: string, secret: string, name = NAME) =>
    guard.attempt(address, { name, secret }, () => {
      compared += 1;
      return secret === RIGHT ? 'in' : undefined;
    });
  /** States of so many guesses, each of another secret. */
  let guesses = 0;
  const guess = (address: string, count: number, name?: string) =>
    Array.from({ length: count }, () => attempt(address, `guess ${guesses++}`, name).state);
  return { clock, lines, failures, attempt, guess, compared: () => compared };
}

describe('who guesses', () => {
  test('gets ten tries, then one at a time, each twice as late as the one before', async () => {
    const { attempt, guess, clock, compared } = newGuard();
    expect(new Set(guess('a', 11))).toEqual(new Set(['wrong']));
    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
      expect(attempt('a', 'again')).toEqual({ state: 'locked', retryAfterSeconds: seconds });
      await clock.advance(seconds * 1_000 - 1);
      expect(attempt('a', RIGHT)).toEqual({ state: 'locked', retryAfterSeconds: 1 });
      await clock.advance(1);
      expect(guess('a', 1)).toEqual(['wrong']);
    }
    // 22 comparisons in a quarter of an hour, whatever was sent.
    expect(compared()).toBe(22);
  });

  test('does not lock out who has the right secret and another address', async () => {
    const { attempt, guess } = newGuard();
    for (let i = 0; i < 300; i++) guess(`attacker ${i}`, 11);
    expect(attempt('honest', RIGHT)).toEqual({ state: 'accepted', value: 'in' });
    // A slip of the pen is forgiven; the next one waits.
    expect(attempt('honest too', 'mistyped').state).toBe('wrong');
    expect(attempt('honest too', RIGHT).state).toBe('accepted');
  });

  test('gets one try instead of ten from each address, once a name has failed a hundred times', () => {
    const { guess } = newGuard();
    for (let i = 0; i < 10; i++) guess(`early ${i}`, 10);
    expect(guess('late', 4)).toEqual(['wrong', 'wrong', 'locked', 'locked']);
    expect(guess('late', 10, 'somebody else').at(-1)).toBe('wrong');
  });

  test('under many names is locked out of all, but where it was let in before', () => {
    const { attempt, guess, compared } = newGuard();
    expect(attempt('shared', RIGHT, 'known').state).toBe('accepted');
    const states = Array.from({ length: 500 }, (_, i) => guess('shared', 1, `name ${i}`)[0]);
    expect(states.filter((state) => state === 'wrong')).toHaveLength(51);
    expect(compared()).toBe(52);
    expect(attempt('shared', RIGHT, 'known').state).toBe('accepted');
    expect(attempt('shared', RIGHT, 'unknown').state).toBe('locked');
  });

  test('cannot wipe out its failures by logging in as somebody else', () => {
    const { attempt, guess } = newGuard();
    for (let i = 0; i < 11; i++) {
      guess('a', 1, 'victim');
      attempt('a', RIGHT, 'my own');
    }
    expect(guess('a', 1, 'victim')).toEqual(['locked']);
  });

  test('is forgotten a quarter of an hour after the last failure', async () => {
    const { guess, clock } = newGuard();
    guess('a', 11);
    await clock.advance(MINUTES_15 + 1_001);
    expect(new Set(guess('a', 10))).toEqual(new Set(['wrong']));
  });

  test('is not who sends one wrong secret again and again: a wrong setting is told as often as it asks', () => {
    const { attempt } = newGuard();
    for (let i = 0; i < 100; i++) expect(attempt('a', 'yesterday’s secret').state).toBe('wrong');
    expect(attempt('a', RIGHT).state).toBe('accepted');
  });

  test('drives out nobody by many names from one address, only by as many addresses', () => {
    const { attempt, guess } = newGuard();
    attempt('shared', RIGHT, 'known');
    guess('first', 11);
    for (let i = 0; i < 500; i++) guess('shared', 1, `name ${i}`);
    expect(attempt('shared', RIGHT, 'known').state).toBe('accepted');
    expect(guess('first', 1)).toEqual(['locked']);
    for (let i = 0; i < 500; i++) guess(`address ${i}`, 1, 'other');
    // The memory is bounded: what was used longest ago has gone.
    expect(guess('first', 1)).toEqual(['wrong']);
  });
});

describe('the log', () => {
  test('has a line for a failure, and neither the secret nor what is dangerous to show', () => {
    const { attempt, lines, failures } = newGuard(['my real secret']);
    attempt('10.0.0.7', 'hush', `\u001b[31mmy real secret${'x'.repeat(500)}`);
    expect(lines).toEqual([
      {
        address: '10.0.0.7',
        name: expect.stringMatching(/^\[31m\*\*\*x{50,64}…$/),
        failures: 1,
        lockedSeconds: 0,
        failuresSinceStart: 1,
        msg: 'a login failed at the door',
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain('hush');
    expect(failures).toEqual(['wrong']);
  });

  test('takes sixty lines a minute, and says how many are missing', async () => {
    const { guess, lines, failures, clock } = newGuard();
    for (let i = 0; i < 500; i++) guess(`address ${i}`, 1);
    expect(lines).toHaveLength(60);
    expect(failures).toHaveLength(500);
    await clock.advance(60_000);
    guess('another', 1);
    expect(lines.at(-1)).toMatchObject({ notLogged: 440, failuresSinceStart: 501 });
  });
});

test('a Basic header gives name and secret as they are, whatever stands in them', () => {
  const anyName = fc.string({ unit: 'binary' }).filter((name) => !name.includes(':'));
  fc.assert(
    fc.property(anyName, fc.string({ unit: 'binary' }), (name, secret) => {
      const text = `${name}:${secret}`;
      const header = `Basic ${Buffer.from(text).toString('base64')}`;
      const colon = Buffer.from(text).toString().indexOf(':');
      const sent = Buffer.from(text).toString();
      expect(readBasic(header)[0]).toEqual({ name: sent.slice(0, colon), secret: sent.slice(colon + 1) });
    }),
    { numRuns: 50 },
  );
  for (const header of [undefined, '', 'Basic', 'Basic !!', 'Bearer abc', `Basic ${btoa('no colon')}`])
    expect(readBasic(header)).toEqual([]);
});

test.each([
  ['a b', 'c', []],
  ['a+b', 'c', ['a b', 'c']],
  ['a%20b', 'c%3Ad', ['a b', 'c:d']],
  ['a', '100%', []],
  ['a+b', '100%', []],
  ['a', '%ff', []],
])(
  'a Basic header of %s:%s is decoded as a form where it is one',
  (name, secret, [decoded, decodedSecret]) => {
    const [plain, ...others] = readBasic(`Basic ${btoa(`${name}:${secret}`)}`);
    expect(plain).toEqual({ name, secret });
    expect(others).toEqual(decoded === undefined ? [] : [{ name: decoded, secret: decodedSecret }]);
  },
);

test('who has a network of IPv6 addresses counts as one', () => {
  const same = (...addresses: string[]) => new Set(addresses.map(clientAddress)).size === 1;
  expect(same('2001:db8:0:1::1', '2001:db8:0:1:ffff:1:2:3', '2001:db8:0:1:0:0:0:9')).toBe(true);
  expect(same('2001:db8::1', '2001:db8:0:0:5::')).toBe(true);
  expect(same('2001:db8:0:1::1', '2001:db8:0:2::1')).toBe(false);
  expect(same('::ffff:10.0.0.1', '10.0.0.1')).toBe(true);
  expect(same('10.0.0.1', '10.0.0.2')).toBe(false);
  expect(same('fe80::1%eth0', 'fe80::2')).toBe(true);
  expect([clientAddress('::1'), clientAddress(undefined)]).toEqual(['::1', '']);
});
