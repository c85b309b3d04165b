/**
 * The series of a vessel-day, held against those of its last published day: they get fewer, `select` changes, an optional
 * expression matches none, metadata give them to another vessel. It waits, is refused or warns, until somebody accepts it.
 */
import { expect, test } from 'vitest';
import type { Dataset, Job, Log } from '../../src/core/model/index.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import { acceptSelect, acceptWarning } from '../../src/lake/accept.ts';
import { acceptedKey, detailKey } from '../../src/lake/keys.ts';
import { readDetail } from '../../src/lake/ledger/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import {
  API,
  type Asked,
  DATE,
  DAY,
  jobOf,
  type OpenLake,
  openMemoryLake,
  seriesOf,
  VESSEL,
} from '../helpers/memory-lake.ts';

const OTHER_VESSEL = 'IMO9322853';
const [ALL, FOUR, TWO] = ['A1 A2 A3 A4 B1 B2', 'A1 A2 A3 A4', 'A1 A2'];
const dateOf = (day: number) => addDays(DATE, day);
const WAITED_HOURS = 2.6;

/** Some tags; what stands behind a `!` is of another vessel. */
const fleet = (tags: string) =>
  tags.split(' ').flatMap((tag) => {
    if (tag === '') return [];
    const series = seriesOf(tag.replace('!', ''));
    return [tag.startsWith('!') ? { ...series, imo: OTHER_VESSEL.slice(3) } : series];
  });

/** Of such patterns; what stands behind a `?` is optional. */
function selecting(patterns: string, dataset: Dataset = 'measurements', more: Partial<Job> = {}): Job {
  const of = (one: string) => `flat/{vessel}/${one.replace('?', '')}`;
  const select = patterns.split(' ');
  const optional = select.filter((one) => one.startsWith('?')).map(of);
  return jobOf(dataset, { select: select.map(of), ...(optional.length > 0 && { optional }), ...more });
}

interface Run extends Omit<Asked, 'date' | 'job'> {
  /** Days after the first one. */
  readonly day: number;
  /** Hours since the history began; a snapshot is taken so many hours after the midnight of its day. */
  readonly hours?: number;
  readonly have: string;
  /** Default: all. */
  readonly select?: string;
  readonly more?: Partial<Job>;
  readonly code: string;
  readonly says?: string;
  /** Series that the receipt says to be missing, and that it says to be another vessel's. */
  readonly warns?: readonly [missing: number, others: number];
}

interface Accept {
  readonly accept: 'vessel' | 'select';
  readonly select?: string;
  readonly state: string;
  readonly series?: number;
}

type Step = Run | Accept;

async function perform(lake: OpenLake, step: Step, startMs: number, dataset?: Dataset): Promise<void> {
  const what = JSON.stringify(step);
  const ports = { ...lake, log: silentLog, apiVersion: API } as const;
  if ('accept' in step) {
    const { accept, select = '*', state, series } = step;
    const accepted =
      accept === 'vessel'
        ? await acceptWarning(ports, DAY.job, VESSEL)
        : await acceptSelect(ports, selecting(select, dataset));
    expect(accepted, what).toMatchObject({ state, ...(series && { series }) });
    return;
  }
  const { day, hours = 0, have, select = '*', more = {}, code, says = '', warns, ...asked } = step;
  lake.source.series = fleet(have);
  const nowMs =
    dataset === 'metadata' ? Date.parse(dateOf(day)) + hours * 3_600_000 : startMs + hours * 3_600_000;
  // Each try is later than the one before.
  const clock = createManualClock(dataset === 'metadata' ? nowMs : nowMs + lake.source.requests.length);
  const job = selecting(select, dataset, more);
  const ran = await lake.run({ job, date: dateOf(day), over: { clock }, ...asked });
  expect(ran, what).toMatchObject({ code, message: expect.stringContaining(says) });
  const { remark, warnings } = ran.receipt ?? {};
  if (ran.receipt !== undefined)
    expect([remark?.missing ?? 0, warnings?.[0]?.series ?? 0], what).toEqual(warns ?? [0, 0]);
}

const waits = (day: number, have: string, more: Partial<Run> = {}): Run => ({
  ...{ day, have, code: 'fewer-series', ...more },
});
const published = (day: number, have: string, more: Partial<Run> = {}): Run => ({
  ...{ day, have, code: 'published', ...more },
});
const refused = (day: number, have: string, says: string, more: Partial<Run> = {}): Run => ({
  ...{ day, have, says, force: true, code: 'would-shrink', ...more },
});
const accepted = (state = 'accepted', series?: number): Accept => ({
  ...{ accept: 'vessel', state, ...(series && { series }) },
});
const acceptedSelect = (select: string, state = 'accepted'): Accept => ({ accept: 'select', select, state });
const [LATER, SHRINK] = [{ hours: WAITED_HOURS }, { allowShrink: true }];

test.for<[what: string, steps: readonly Step[]]>([
  ['series that are back are no loss', [waits(1, TWO), published(1, ALL)]],
  [
    'a day that has waited warns, and the next carries it on until they are back',
    [
      ...[waits(1, TWO), waits(1, TWO, { hours: 2 })],
      ...[published(1, TWO, { ...LATER, warns: [4, 0] }), published(2, TWO, { ...LATER, warns: [4, 0] })],
      ...[published(3, ALL, LATER), accepted('nothing-to-accept')],
    ],
  ],
  ['still fewer wait anew', [waits(1, FOUR), waits(1, TWO, LATER), waits(2, FOUR), waits(2, TWO, LATER)]],
  [
    'another failure does not begin the wait anew',
    [
      ...[waits(1, TWO), { day: 1, have: '', hours: 1, code: 'no-series' }],
      published(1, TWO, { ...LATER, warns: [4, 0] }),
    ],
  ],
  [
    'a clock that was ahead when the wait began does not prolong it',
    [waits(1, TWO, { hours: 1_000 }), waits(1, TWO), published(1, TWO, { ...LATER, warns: [4, 0] })],
  ],
  ['who allows it does not wait', [published(1, TWO, { ...SHRINK, warns: [4, 0] })]],
  ['who selects less means it', [published(1, ALL, { select: 'A*' })]],
  ['settings beside select change nothing', [waits(1, TWO, { more: { transport: 'json' } })]],
  [
    'a published day does not give way to one with fewer',
    [waits(0, TWO, { force: true }), refused(0, TWO, `${VESSEL}/`, LATER)],
  ],
  [
    'accepted while it waits, it is published at once; what is lost later waits',
    [waits(1, FOUR), accepted('accepted', 4), published(1, FOUR), waits(2, 'A1 A2 A3')],
  ],
  [
    'series that came back and are lost again are not those that were accepted',
    [
      waits(1, TWO),
      accepted(),
      published(1, TWO),
      published(2, ALL, { hours: 0.1 }),
      waits(3, TWO, { hours: 0.2 }),
    ],
  ],
  [
    'accepted once it is published, the next days warn no more',
    [
      ...[published(1, TWO, { ...SHRINK, warns: [4, 0] }), published(2, TWO, { warns: [4, 0] })],
      ...[accepted('accepted', 2), accepted('accepted-before'), published(3, TWO)],
    ],
  ],
  [
    'a narrowed select is refused, until just this one is accepted',
    [
      refused(0, ALL, '2 series would lose 6 readings: ', { select: 'A*' }),
      refused(0, ALL, "'vessel-export accept m' accepts that once for the job", { select: 'A*' }),
      ...[acceptedSelect('A*'), acceptedSelect('A*', 'accepted-before')],
      refused(0, ALL, '--allow-shrink', { select: 'B*' }),
      ...[published(0, ALL, { select: 'A*' }), acceptedSelect('A*', 'nothing-to-accept')],
    ],
  ],
  ['allowing it is a way out as well', [published(0, ALL, { select: 'A*', ...SHRINK })]],
  [
    'a widened select while the source has lost a series waits, and is refused, accepted or not',
    [
      ...[published(1, ALL, { select: 'A*' }), waits(1, 'A2 A3 A4 B1 B2')],
      acceptedSelect('*'),
      refused(1, 'A2 A3 A4 B1 B2', 'it still covers these, or that is unknown', { hours: 3 }),
    ],
  ],
  [
    'a narrowed and accepted select stays refused where a series that it still means is lost',
    [
      ...[acceptedSelect('A*'), waits(0, 'A2 A3 A4 B1 B2', { select: 'A*' })],
      refused(0, 'A2 A3 A4 B1 B2', '1 series would lose', { select: 'A*', hours: 3 }),
    ],
  ],
  [
    'series that the source has lost may go where an accepted select does not mean them',
    [acceptedSelect('A*'), published(0, FOUR, { select: 'A*' })],
  ],
  [
    'a new day of another select is compared with the last by what both mean, until someone accepts it',
    [
      published(1, ALL, { select: 'A*' }),
      waits(2, 'A2 A3 A4 B1 B2', { select: 'A* B1' }),
      published(2, 'A2 A3 A4 B1 B2', { select: 'A* B1', hours: 3, warns: [1, 0] }),
      published(3, 'A2 A3 A4 B1 B2', { select: 'A* B1', warns: [1, 0] }),
      ...[accepted('accepted', 4), published(4, 'A2 A3 A4 B1 B2', { select: 'A* B1' })],
    ],
  ],
  [
    'series of another vessel are left out with a warning, of just these, until it is accepted',
    [
      published(1, '!A1 !A2 A3 A4 B1 B2', { ...SHRINK, warns: [2, 2] }),
      published(2, '!A1 !A2 A3 A4 B1 B2', { warns: [2, 2] }),
      ...[accepted(), accepted('accepted-before'), published(3, '!A1 !A2 A3 A4 B1 B2')],
      published(4, '!A1 !A2 !A3 A4 B1 B2', { ...SHRINK, warns: [1, 3] }),
      ...[accepted('accepted', 3), published(5, '!A1 !A2 !A3 A4 B1 B2')],
    ],
  ],
  [
    'where all are of another vessel the day fails',
    [{ day: 1, have: '!A1 !A2', code: 'no-series', says: `is of ${OTHER_VESSEL}` }],
  ],
  [
    'an expression that matches none fails the day, which is whole the next time',
    [{ day: 1, have: FOUR, select: 'A* B*', code: 'no-series' }, published(1, ALL, { select: 'A* B*' })],
  ],
  [
    'an optional expression that had series fails the day, unless that is allowed',
    [
      published(1, ALL, { select: 'A* ?B*' }),
      { day: 2, have: FOUR, select: 'A* ?B*', code: 'no-series', says: `did for ${dateOf(1)}` },
      published(2, FOUR, { select: 'A* ?B*', ...SHRINK, warns: [2, 0] }),
      published(3, FOUR, { select: 'A* ?B*', warns: [2, 0] }),
    ],
  ],
  [
    'a job that makes an expression optional has the days that it had',
    [
      published(1, ALL, { select: 'A* B*' }),
      { day: 1, have: ALL, select: 'A* ?B*', code: 'done', warns: [0, 0] },
    ],
  ],
  [
    'readings do not give way to another dataset of the same name',
    [
      refused(0, ALL, 'refused to replace published measurements by statistics', {
        more: jobOf('statistics'),
      }),
    ],
  ],
])('%s', async ([, steps]) => {
  const lake = openMemoryLake([]);
  const startMs = lake.clock.nowMs();
  for (const step of [published(0, ALL), ...steps]) await perform(lake, step, startMs);
});

test.for<[what: string, steps: readonly Step[]]>([
  [
    'that would lose series waits in the same way, over midnight too',
    [
      ...[waits(1, FOUR, { hours: 23, says: '2 of the 6 series of' }), waits(2, FOUR, { hours: 1 })],
      published(2, FOUR, { hours: 2, warns: [2, 0] }),
    ],
  ],
  ['of the same day that loses series stays refused', [refused(0, FOUR, '', { hours: 13 })]],
  [
    'keeps its series, whatever comes in their place',
    [
      refused(0, 'A2 A3 A4 B1 B2', '1 series would be lost: ', { hours: 13 }),
      refused(0, ALL, '', { select: 'B*', hours: 14 }),
      ...[acceptedSelect('B*'), published(0, ALL, { select: 'B*', hours: 14 })],
    ],
  ],
  [
    'says which are of another vessel',
    [published(1, '!A1 !A2 A3 A4 B1 B2', { hours: 12, ...SHRINK, warns: [2, 2] })],
  ],
  [
    'is held to its expressions, too',
    [
      published(1, ALL, { hours: 12, select: 'A* ?B*' }),
      { day: 2, hours: 12, have: FOUR, select: 'A* ?B*', code: 'no-series' },
    ],
  ],
])('a snapshot %s', async ([, steps]) => {
  const lake = openMemoryLake([]);
  const first = published(0, ALL, { hours: 12 });
  for (const step of [first, ...steps]) await perform(lake, step, 0, 'metadata');
});

test('receipt, note and detail say which series there are, and until when a day waits', async () => {
  const lake = openMemoryLake([...fleet('A1 A2'), seriesOf('B1', 0)]);
  const { receipt } = await lake.run();
  expect(receipt).toMatchObject({ selectedSeries: 3, series: 2 });
  const names = ['A1', 'A2', 'B1'].map((tag) => [seriesOf(tag).timeSeriesId, `${VESSEL}/${tag}`]);
  expect((await readDetail(lake.store, receipt!))!.series).toEqual(Object.fromEntries(names));
  expect(await lake.store.head(detailKey(DAY))).toBeDefined();
  lake.source.series = fleet('A1');
  const { message } = await lake.run({ date: dateOf(1) });
  expect(message).toContain(`2 of the 3 series of ${DATE} are missing`);
  expect(message).toMatch(/From 20\d\d-\d\d-\d\dT[\d:.]+Z on/);
  expect(message).toContain(`vessel-export accept m ${VESSEL}`);
  const note = await lake.note(dateOf(1));
  expect(note).toMatchObject({ state: 'waiting', code: 'fewer-series' });
  const { publishedFrom, firstSeenAt } = note!.waiting!;
  expect(Date.parse(publishedFrom) - Date.parse(firstSeenAt)).toBe(155 * 60_000);
  await lake.clock.advance(3 * 3_600_000);
  const { receipt: warned } = await lake.run({ date: dateOf(1) });
  expect(warned!.remark).toMatchObject({
    ...{ kind: 'fewer-series', missing: 2, since: dateOf(1), comparedWith: { date: DATE, series: 3 } },
    names: [`${VESSEL}/A2`, `${VESSEL}/B1`],
  });
  expect(await lake.note(dateOf(1))).toBeUndefined();
});

test('what was accepted and is damaged since accepts nothing, and stops nothing', async () => {
  const lake = openMemoryLake(fleet(ALL));
  await lake.run();
  lake.source.series = fleet(TWO);
  await lake.run({ date: dateOf(1), allowShrink: true });
  const accept = () => acceptWarning({ ...lake, log: silentLog }, DAY.job, VESSEL);
  expect(await accept()).toMatchObject({ state: 'accepted' });
  await lake.store.put(acceptedKey(DAY.job, VESSEL), Buffer.from('{'));
  const { receipt } = await lake.run({ date: dateOf(2) });
  expect(receipt?.remark).toMatchObject({ missing: 4 });
  expect(await accept()).toMatchObject({ state: 'accepted' });
});

test('an optional expression that never matched is said, whether the answer is 404 or an empty list', async () => {
  for (const rewrite of [undefined, (_: unknown, body: string) => body]) {
    const lake = openMemoryLake(fleet(rewrite ? ALL : FOUR));
    if (rewrite)
      lake.source.rewrite = ({ family, expressions }, body) =>
        family === 'metadata' && expressions[0]!.includes('/B') ? '[]' : body;
    for (const day of [0, 1])
      expect(await lake.run({ job: selecting('A* ?B*'), date: dateOf(day) })).toMatchObject({
        ...{ code: 'published', receipt: { unmatchedExpressions: [1], selectedSeries: 4, rows: 12 } },
      });
  }
});

test('a malformed IMO number fails the day; among ids of several vessels, as theirs, it is left out', async () => {
  const odd = { ...seriesOf('B1'), imo: '93\u202e21483x' };
  const lake = openMemoryLake([...fleet('A1 A2 !B2'), odd]);
  expect(await lake.run()).toMatchObject({
    code: 'malformed-imo',
    message: expect.stringContaining("'93 21483x'"),
  });
  const ids = ['A1', 'B1', 'B2'].map((tag) => seriesOf(tag).timeSeriesId);
  const lines: string[] = [];
  const log: Log = { ...silentLog, warn: (_: object, text: string) => void lines.push(text) };
  const job = jobOf('measurements', { select: [`id/${ids.join(',')}`] });
  const { receipt } = await lake.run({ job, over: { log } });
  expect(receipt).toMatchObject({ selectedSeries: 1, rows: 3 });
  expect(receipt).not.toHaveProperty('warnings');
  expect(lines.join()).toContain("found '93 21483x' as the IMO number of series");
});
