import { expect, it } from 'vitest';
import { type Log, silentLog } from '../../../src/core/model/ports.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { answer, clientOf, type Handler, PAGE, refuse, startListener } from './listener.ts';

const HERE = Date.UTC(2026, 0, 6, 6);
const httpDate = (ms: number) => new Date(ms).toUTCString();

/** A client that has got these answers, one each. */
async function askedOf(...handlers: Handler[]) {
  const listener = await startListener();
  const clock = createManualClock(HERE);
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message) };
  listener.alwaysToken((response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', date: httpDate(HERE + 86_400_000) })
      .end('{"access_token":"token-1"}'),
  );
  listener.script(...handlers);
  const client = clientOf(listener, { clock, log });
  for (const _ of handlers) await client.readAll(PAGE).catch(() => {});
  return { clock, client, clockWarnings: () => warnings.filter((text) => text.includes('clock')) };
}

const dated = (ms: number, more: Record<string, string> = {}) => answer('', { date: httpDate(ms), ...more });

it('tells what time it is at the service, and goes on from there', async () => {
  const { clock, client, clockWarnings } = await askedOf(dated(HERE - 60_000));
  expect(client.serverNowMs()).toBe(HERE - 60_000);
  await clock.advance(90_000);
  expect(client.serverNowMs()).toBe(HERE + 30_000);
  expect(clockWarnings()).toEqual([]);
});

it('goes by the newest answer, of whatever status, and by how long it lay in a cache', async () => {
  expect(
    (await askedOf(dated(HERE), refuse(404, 'no', { date: httpDate(HERE + 7_000) }))).client.serverNowMs(),
  ).toBe(HERE + 7_000);
  expect((await askedOf(dated(HERE - 60_000, { age: '60' }))).client.serverNowMs()).toBe(HERE);
});

it('knows nothing before the first answer, and an hour after the last', async () => {
  const { clock, client } = await askedOf();
  expect(client.serverNowMs()).toBeUndefined();
  const later = await askedOf(dated(HERE));
  await later.clock.advance(3_600_001);
  expect(later.client.serverNowMs()).toBeUndefined();
  await clock.advance(0);
});

it.each([
  ['of 1970', 'Thu, 01 Jan 1970 00:00:10 GMT'],
  ['before the API', 'Thu, 30 Oct 2025 23:59:59 GMT'],
  ['in another shape', '2026-01-06T06:00:00Z'],
  ['that does not exist', 'Tue, 99 Jan 2026 06:00:00 GMT'],
  ['that is empty', ''],
])('takes a date %s for none', async (_, date) => {
  const { client, clockWarnings } = await askedOf(answer('', { date }));
  expect(client.serverNowMs()).toBeUndefined();
  expect(clockWarnings()).toEqual([]);
});

it('takes no date for none', async () => {
  const { client } = await askedOf((response, seen) => {
    response.sendDate = false;
    return answer('')(response, seen);
  });
  expect(client.serverNowMs()).toBeUndefined();
});

it.each([-86_400_000, -301_000, 301_000, 86_400_000])('warns once of clocks %i ms apart', async (ms) => {
  const { clockWarnings } = await askedOf(dated(HERE + ms), dated(HERE + ms), dated(HERE), dated(HERE + ms));
  expect(clockWarnings()).toHaveLength(1);
});

it('does not warn of clocks a few minutes apart', async () => {
  const { clockWarnings } = await askedOf(dated(HERE + 299_000), dated(HERE - 299_000));
  expect(clockWarnings()).toEqual([]);
});
