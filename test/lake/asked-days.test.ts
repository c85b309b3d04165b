/** Which days are missing and which nobody has asked for: the same, whatever range of days is looked at. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays, datesBetween, type Job } from '../../src/core/model/index.ts';
import { readAskedDays } from '../../src/lake/asked-days.ts';
import { backfillKey, captureKey, noteKey, receiptKey } from '../../src/lake/keys.ts';
import { markRegularRun } from '../../src/lake/marks.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import { watchedStore } from '../helpers/watched-store.ts';
import { keysOf } from '../store/store-suite.ts';

const [ONE, OTHER] = ['IMO9000001', 'IMO9000002'];
const VESSELS = [ONE, OTHER];
const TODAY = '2026-06-30';
const clock = { nowMs: () => Date.parse(`${TODAY}T12:00:00Z`) };
const BY_HAND: Job = {
  ...{
    name: 'm',
    dataset: 'measurements',
    vessels: VESSELS,
    select: [],
    transport: 'ndjson',
    verify: 'exact',
  },
};
const SCHEDULE = { cron: '15 6 * * *', timezone: 'UTC', settleMs: 0 };
const NIGHTLY: Job = { ...BY_HAND, schedule: SCHEDULE };
const DISCOVERING: Job = { ...NIGHTLY, vessels: { discover: 'flat/*/*' } };
const keyOf = (vessel: string, date: string) => receiptKey({ job: 'm', vessel, date });
const ago = (days: number) => addDays(TODAY, -days);

/** A lake of keys, and of what lies there. */
async function lakeOf(keys: readonly string[], texts: Readonly<Record<string, string>> = {}) {
  const files = createMemoryStore();
  for (const key of keys) await files.put(key, Buffer.from('{}'));
  for (const [key, text] of Object.entries(texts)) await files.put(key, Buffer.from(text));
  return { files, ...watchedStore(files) };
}

const published = (vessel: string, ...dates: string[]) => dates.map((date) => keyOf(vessel, date));

/** Of each vessel what its days of a range are: `p` published, `m` missing, `-` not asked for, `.` not due. */
async function look(
  { store, files }: Awaited<ReturnType<typeof lakeOf>>,
  job: Job,
  range: { readonly from: string; readonly to: string; readonly isCurrent?: boolean },
  vessels: readonly string[] = VESSELS,
): Promise<string[]> {
  const keys = new Set(await keysOf(files, '_ledger/'));
  const isPublished = ({ vessel, date }: { vessel: string; date: string }) => keys.has(keyOf(vessel, date));
  const name = await readAskedDays({ store, clock }, job, { ...range, vessels, isPublished });
  const letters: Record<string, string> = { missing: 'm', 'not-asked-for': '-', 'not-due': '.' };
  return vessels.map((vessel) =>
    datesBetween(range.from, range.to)
      .map((date) => {
        if (isPublished({ vessel, date })) return 'p';
        return letters[name({ job: job.name, vessel, date }, date >= TODAY ? 'not-due' : 'missing')];
      })
      .join(''),
  );
}

test('what says itself when it is exported needs no mark of regular runs', async () => {
  const lake = await lakeOf([]);
  await markRegularRun(lake.store, NIGHTLY, ago(4));
  await markRegularRun(lake.store, { ...BY_HAND, since: ago(9) }, ago(4));
  expect(await keysOf(lake.files, '')).toEqual([]);
});

test('a backfill that is defined asks for its days and vessels; once it is covered nobody does for those beside it', async () => {
  const backfill = {
    ...{ backfillVersion: 1, id: 'b', job: 'm', from: ago(9), to: ago(7), vessels: [OTHER] },
    ...{ allowShrink: false, paused: true, createdAt: '2026-06-30T00:00:00.000Z' },
  };
  const lake = await lakeOf([], { [backfillKey('b')]: JSON.stringify(backfill) });
  const range = { from: ago(10), to: ago(5) };
  expect(await look(lake, BY_HAND, range)).toEqual(['-----', '-mm--']);
  await lake.files.remove(backfillKey('b'));
  for (const key of published(OTHER, ago(9), ago(8))) await lake.files.put(key, Buffer.from('{}'));
  expect(await look(lake, BY_HAND, range)).toEqual(['-----', '-pp--']);
  await lake.files.put(backfillKey('b'), Buffer.from('no JSON'));
  expect(await look(lake, BY_HAND, range)).toEqual(['-----', '-pp--']);
});

test('of a vessel that has left, only holes are missing; where all have stopped, none has left', async () => {
  const range = { from: ago(40), to: addDays(TODAY, 1) };
  const days = (from: number, to: number) => datesBetween(ago(from), ago(to));
  const leaver = published(ONE, ...days(40, 33), ...days(32, 30));
  const others = published(OTHER, ...days(40, 0));
  const [left] = await look(await lakeOf([...leaver, ...others]), DISCOVERING, range);
  expect(left).toBe(`pppppppmpp${'-'.repeat(30)}.`);
  const [stopped] = await look(await lakeOf(leaver), DISCOVERING, range);
  expect(stopped).toBe(`pppppppmpp${'m'.repeat(30)}.`);
  // Whom the service lists has not left, nor has whom an export is tried of.
  const [listed] = await look(await lakeOf([...leaver, ...others]), DISCOVERING, {
    ...range,
    isCurrent: true,
  });
  expect(listed).toBe(stopped);
  const note = noteKey({ job: 'm', vessel: ONE, date: ago(1) });
  const [tried] = await look(await lakeOf([...leaver, ...others, note]), DISCOVERING, range);
  expect(tried).toBe(stopped);
});

test('a job whose days are all asked for costs no request', async () => {
  const lake = await lakeOf(published(ONE, ago(3)));
  await look(lake, { ...NIGHTLY, since: ago(9) }, { from: ago(9), to: addDays(TODAY, 1) });
  expect(lake.asked).toEqual([]);
});

test('whatever is published, a day is called the same, however many of its neighbours are looked at with it', async () => {
  const jobs: Job[] = [
    BY_HAND,
    NIGHTLY,
    DISCOVERING,
    { ...NIGHTLY, since: ago(30) },
    { ...BY_HAND, vessels: { discover: 'flat/*/*' }, reconcile: { ...SCHEDULE, lookbackDays: 5 } },
  ];
  const [from, to] = [ago(90), addDays(TODAY, 1)];
  // Holes about as long as one may be.
  const length = fc.oneof(fc.constantFrom(1, 2, 29, 30, 31, 32, 33), fc.integer({ min: 1, max: 20 }));
  const stretches = fc.array(fc.tuple(length, fc.integer({ min: 1, max: 9 })), { maxLength: 5 });
  const datesOf = (parts: readonly (readonly [hole: number, days: number])[]) => {
    const dates: string[] = [];
    let at = from;
    for (const [hole, days] of parts) {
      dates.push(...datesBetween(addDays(at, hole), addDays(at, hole + days)));
      at = addDays(at, hole + days);
    }
    return dates.filter((date) => date < TODAY);
  };
  const day = fc.integer({ min: 0, max: 90 });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...jobs),
      stretches,
      stretches,
      day,
      day,
      async (job, one, other, a, b) => {
        const lake = await lakeOf([
          ...published(ONE, ...datesOf(one)),
          ...published(OTHER, ...datesOf(other)),
        ]);
        const all = await look(lake, job, { from, to });
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const part = await look(lake, job, { from: addDays(from, low), to: addDays(from, high + 1) });
        expect(part).toEqual(all.map((letters) => letters.slice(low, high + 1)));
        for (const [index, date] of datesBetween(from, to).entries()) {
          const [alone] = await look(lake, job, { from: date, to: addDays(date, 1) }, [ONE]);
          expect(alone, date).toBe(all[0]![index]);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test('snapshots that a schedule has asked for since the last one are missing, and none that it has not', async () => {
  const job: Job = { ...NIGHTLY, dataset: 'metadata' };
  const mark = (date: string) => captureKey({ job: 'm', vessel: ONE, date });
  const range = { from: ago(4), to: addDays(TODAY, 1) };
  const taken = await lakeOf([...published(ONE, ago(4)), mark(ago(2))]);
  expect((await look(taken, job, range))[0]).toBe('p..mm');
  // It has not fired today.
  const evening = { ...job, schedule: { ...SCHEDULE, cron: '15 18 * * *' } };
  expect((await look(taken, evening, range))[0]).toBe('p..m.');
  const weekly = { ...job, schedule: { ...SCHEDULE, cron: '15 6 * * 1' } };
  expect(new Date(`${ago(1)}T00:00:00Z`).getUTCDay()).toBe(1);
  expect((await look(taken, weekly, range))[0]).toBe('p..m.');
  // A clock that was ahead has marked a day to come, and older versions marked none.
  const ahead = await lakeOf([...published(ONE, ago(4)), mark(ago(2)), mark(addDays(TODAY, 9))]);
  expect((await look(ahead, job, range))[0]).toBe('p..mm');
  expect((await look(await lakeOf(published(ONE, ago(4))), job, range))[0]).toBe('p....');
  // Who died between receipt and mark has taken it.
  const newer = await lakeOf([...published(ONE, ago(4), ago(1)), mark(ago(2))]);
  expect((await look(newer, job, range))[0]).toBe('p..pm');
});
