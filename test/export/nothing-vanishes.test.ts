/**
 * No published reading disappears without a refusal, a warning, or somebody's word. Whole exports in one process, of a
 * lake in memory and a source that changes: over what `select` was and is, what the source has lost, gained or given to
 * another vessel, who has published in between, and what was accepted of which `select`.
 */
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Dataset, Job, Layout } from '../../src/core/model/index.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import { seriesTotals } from '../../src/core/proof/day-totals.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import { acceptSelect } from '../../src/lake/accept.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { detailKey, receiptKey } from '../../src/lake/keys.ts';
import { readDetail, readReceipt } from '../../src/lake/ledger/ledger.ts';
import type { MadeUpSeries } from '../helpers/made-up-source.ts';
import {
  API,
  type Asked,
  DATE,
  DAY,
  jobOf,
  type OpenLake,
  openMemoryLake,
  seriesOf as seriesNamed,
  startProcess,
  VESSEL,
} from '../helpers/memory-lake.ts';

const IMO = VESSEL.slice(3);

/** How it ends; what nobody expects fails the test. */
async function exportDay(lake: OpenLake, ports: ExportPorts, job: Job, asked: Asked = {}) {
  const { code, message } = await lake.run({ ports, job, force: true, ...asked });
  const expected = ['published', 'done', 'unchanged', 'would-shrink', 'fewer-series', 'no-series'];
  expect(expected, message).toContain(code);
  return { code, message };
}

/** Readings of each series that are published. */
async function publishedIn({ store }: OpenLake): Promise<ReadonlyMap<string, number>> {
  const receipt = await readReceipt(store, DAY);
  const detail = receipt && (await readDetail(store, receipt));
  if (detail === undefined) return new Map();
  return new Map([...seriesTotals(detail.ours)].map(([id, { count }]) => [id, count]));
}

const seriesOf = (tag: string): MadeUpSeries => {
  const { names, ...series } = seriesNamed(tag);
  // Some have no name in the other domain.
  return { ...series, names: { ...names, ...(tag[1] !== '3' && { maker: `${VESSEL}/${tag[0]}/${tag}` }) } };
};
const TAGS = ['A1', 'A2', 'A3', 'B1', 'B2'];

const of = (dataset: Dataset, select: string) => jobOf(dataset, { select: select.split(' ') });

/** What a `select` means, by hand: tags that begin with a letter, by their flat name or by that of the maker. */
const SELECTS: Readonly<Record<string, (tag: string) => boolean>> = {
  'flat/{vessel}/A*': (tag) => tag[0] === 'A',
  'flat/{vessel}/B*': (tag) => tag[0] === 'B',
  'flat/{vessel}/A* flat/{vessel}/B*': () => true,
  'flat/{vessel}/*': () => true,
  'maker/{vessel}/A/*': (tag) => tag[0] === 'A' && tag[1] !== '3',
  'maker/{vessel}/*/*': (tag) => tag[1] !== '3',
  [`id/${['A1', 'B1'].map((tag) => seriesOf(tag).timeSeriesId).join(',')}`]: (tag) => tag[1] === '1',
};
const select = fc.constantFrom(...Object.keys(SELECTS));
const CHANGES = [
  'stays',
  'stays',
  'stays',
  'is lost',
  'loses a reading',
  'gains a reading',
  'is renamed',
  'is of another',
] as const;
type Change = (typeof CHANGES)[number];

function changed(tag: string, change: Change): MadeUpSeries[] {
  const series = seriesOf(tag);
  switch (change) {
    case 'is lost':
      return [];
    case 'loses a reading':
      return [{ ...series, readings: 2 }];
    case 'gains a reading':
      return [{ ...series, readings: 4 }];
    case 'is renamed':
      return [{ ...series, names: { flat: `${VESSEL}/X${tag}`, maker: `${VESSEL}/X/${tag}` } }];
    case 'is of another':
      return [{ ...series, imo: '9322853' }];
    default:
      return [series];
  }
}

const history = fc.record({
  dataset: fc.constantFrom<Dataset>('measurements', 'measurements', 'statistics'),
  layout: fc.constantFrom<Layout>('plain', 'plain', 'plain', 'delta'),
  before: select,
  now: select,
  changes: fc.tuple(...TAGS.map(() => fc.constantFrom(...CHANGES))),
  gained: fc.boolean(),
  /** Another process exports the day in between, with one of both. */
  other: fc.constantFrom('nobody', 'as before', 'as now'),
  /** Of which `select` it was accepted that series go. */
  accepted: fc.constantFrom('none', 'none', 'before', 'now', 'now'),
  allowShrink: fc.boolean(),
  /** What has become of the detail of the published day: an older version wrote no `select`, or it is lost. */
  detail: fc.constantFrom('whole', 'whole', 'without select', 'lost'),
});

/** Rewrites the detail, and the receipt that names it. */
async function tamper({ store }: OpenLake, how: string): Promise<void> {
  const receipt = (await readReceipt(store, DAY))!;
  if (how === 'lost') await store.remove(detailKey(DAY));
  if (how !== 'without select') return;
  const { select: _, ...detail } = (await readDetail(store, receipt))!;
  const text = Buffer.from(JSON.stringify(detail));
  await store.put(detailKey(DAY), gzipSync(text));
  const named = { key: detailKey(DAY), sha256: hash('sha256', text) };
  await store.put(receiptKey(DAY), jsonBytes({ ...receipt, detail: named }));
}

/** Series with their readings before, that have fewer now. */
function fewerIn(now: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>) {
  return [...before].filter(([id, readings]) => (now.get(id) ?? 0) < readings);
}

function totalOf(readings: ReadonlyMap<string, number>): number {
  return [...readings.values()].reduce((sum, count) => sum + count, 0);
}

/** By the names that the source has now; of what it has lost, by those that it had. */
function isMeantNow(select: string, tag: string, change: Change): boolean {
  const isOfAny = select.endsWith('/*') && !select.includes('A');
  return change === 'is renamed' && !select.startsWith('id/') ? isOfAny : SELECTS[select]!(tag);
}

test('nothing that is published goes without a refusal, or somebody who says so', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ dataset, layout, changes, accepted, allowShrink, detail, ...one }) => {
      const lake = openMemoryLake(TAGS.map(seriesOf), layout);
      const [before, now] = [of(dataset, one.before), of(dataset, one.now)];
      const [ours, another] = [startProcess(lake), startProcess(lake)];
      expect(await exportDay(lake, ours, before)).toMatchObject({ code: 'published' });
      const gained = one.gained ? [seriesOf('A4'), seriesOf('B4')] : [];
      lake.source.series = [...TAGS.flatMap((tag, at) => changed(tag, changes[at]!)), ...gained];
      const first = await publishedIn(lake);
      await tamper(lake, detail);
      if (one.other !== 'nobody') await exportDay(lake, another, one.other === 'as before' ? before : now);
      const acceptedJob = { none: undefined, before, now }[accepted];
      if (acceptedJob) await acceptSelect({ ...lake, apiVersion: API, log: silentLog }, acceptedJob);
      const read = await publishedIn(lake);
      const published = read.size > 0 ? read : first;
      // Without a detail, and with the same `select`, the total is all that is known.
      const fewer = (
        after: ReadonlyMap<string, number>,
        than: ReadonlyMap<string, number>,
        isSame: boolean,
      ) => (detail === 'lost' && isSame && totalOf(after) >= totalOf(than) ? [] : fewerIn(after, than));
      expect(fewer(published, first, one.other === 'as before' || one.before === one.now)).toEqual([]);
      const isAccepted = accepted === 'now' && one.before !== one.now;

      let ran = await exportDay(lake, ours, now, { allowShrink });
      // Who waits for series is tried again once it has waited.
      if (ran.code === 'fewer-series') {
        await lake.clock.advance(3 * 3_600_000);
        ran = await exportDay(lake, ours, now, { allowShrink });
      }
      const left = ran.code === 'published' ? await publishedIn(lake) : published;
      const lost = fewer(left, published, one.before === one.now);
      const facts = [...TAGS, 'A4', 'B4'].map((tag, at) => {
        return { tag, change: changes[at] ?? 'stays', id: seriesOf(tag).timeSeriesId };
      });
      const factsOf = (id: string) => facts.find((each) => each.id === id)!;
      const isMeant = (id: string) => isMeantNow(one.now, factsOf(id).tag, factsOf(id).change);
      const unsaid = lost.filter(([id]) => !allowShrink && !(isAccepted && !isMeant(id)));
      expect(unsaid, ran.message).toEqual([]);
      expect(ran.code).not.toBe('fewer-series');

      // Nor is anything refused for no reason.
      if (ran.code === 'would-shrink') {
        const reasons = [...published].filter(([id, readings]) => {
          const { tag, change } = factsOf(id);
          const yielded = isMeant(id) ? changed(tag, change).find(({ imo }) => imo === IMO) : undefined;
          const isNamedSo = change === 'is renamed' && SELECTS[one.now]!(tag);
          const mayGo = isAccepted && !isMeant(id) && change !== 'is lost' && !isNamedSo;
          return Number(yielded?.readings ?? 0) < readings && !mayGo;
        });
        if (detail !== 'lost') expect(reasons, ran.message).not.toEqual([]);
        expect(ran.message).toContain('--allow-shrink');
        expect(allowShrink).toBe(false);
      }
      await Promise.all([ours, another].map(({ tables }) => tables.close()));
    }),
    { numRuns: 100 },
  );
});

const later = fc.record({
  dataset: fc.constantFrom<Dataset>('measurements', 'metadata'),
  before: select,
  now: select,
  /** What the source is when another process publishes a day in between, and after that. */
  first: fc.tuple(...TAGS.map(() => fc.constantFrom<Change>('stays', 'stays', 'is lost'))),
  after: fc.tuple(...TAGS.map(() => fc.constantFrom(...CHANGES))),
  /** Days after the first one. */
  between: fc.constantFrom(0, 1, 5),
  day: fc.constantFrom(6, 7, 9),
  otherSelect: fc.constantFrom<'before' | 'now'>('before', 'now'),
  allowShrink: fc.boolean(),
});

/** The tags that a `select` yields of a source that has changed so: those that it means and that are the vessel's. */
function yielded(written: string, changes: readonly Change[]): string[] {
  return TAGS.filter((tag, at) => {
    const [series] = changed(tag, changes[at]!);
    return series?.imo === IMO && isMeantNow(written, tag, changes[at]!);
  });
}

const ALL_STAY: readonly Change[] = TAGS.map(() => 'stays');

test('a later day says what it lacks of the newest published one, whoever published that', async () => {
  await fc.assert(
    fc.asyncProperty(later, async ({ dataset, allowShrink, ...one }) => {
      const lake = openMemoryLake([]);
      const [ours, another] = [startProcess(lake), startProcess(lake)];
      let newest = { select: '', tags: [] as string[] };
      const run = async (ports: ExportPorts, written: string, days: number, changes: readonly Change[]) => {
        lake.source.series = TAGS.flatMap((tag, at) => changed(tag, changes[at]!));
        const asked = {
          date: addDays(DATE, days),
          allowShrink: allowShrink || ports === another,
          force: false,
        };
        return (await exportDay(lake, ports, of(dataset, written), asked)).code;
      };
      const publish = async (...given: Parameters<typeof run>) => {
        if ((await run(...given)) === 'published')
          newest = { select: given[1], tags: yielded(given[1], given[3]) };
      };
      await publish(ours, one.before, 0, ALL_STAY);
      if (one.between > 0) await publish(another, one[one.otherSelect], one.between, one.first);
      const outcome = await run(ours, one.now, one.day, one.after);
      const receipt = await readReceipt(lake.store, { ...DAY, date: addDays(DATE, one.day) });
      const tags = yielded(one.now, one.after);
      if (tags.length === 0) expect(outcome).toBe('no-series');
      if (outcome === 'no-series') return;

      const changeOf = (tag: string) => one.after[TAGS.indexOf(tag)]!;
      const gone = newest.tags.filter((tag) => !tags.includes(tag));
      const lost = gone.filter((tag) => isMeantNow(one.now, tag, changeOf(tag)));
      // Of the same `select` numbers are compared; of another what this one still means.
      const isSame = newest.select === one.now;
      const isLess = isSame ? tags.length < newest.tags.length : lost.length > 0;
      if (isLess) expect(outcome === 'fewer-series' || receipt?.remark !== undefined, outcome).toBe(true);
      if (allowShrink) expect(outcome).not.toBe('fewer-series');
      // Nor does it wait for no reason: the source has the others, and calls them what it did.
      const isFine = !isSame && gone.every((tag) => changeOf(tag) === 'stays' && !lost.includes(tag));
      if (isFine && one.between === 0) expect(outcome).not.toBe('fewer-series');
      const others = TAGS.filter((tag) => changeOf(tag) === 'is of another' && SELECTS[one.now]!(tag));
      if (receipt !== undefined && others.length > 0 && !one.now.startsWith('id/'))
        expect(receipt.warnings).toMatchObject([{ kind: 'other-vessel', series: others.length }]);
    }),
    { numRuns: 100 },
  );
});
