/** What is asked of statistics, of a listener that answers as scripted. */
import { describe, expect } from 'vitest';
import { messageOf } from '../../src/core/errors.ts';
import { dayRange, type Job, MAX_SERIES, silentLog } from '../../src/core/model/index.ts';
import { createSourceContext, type SourceContext } from '../../src/source/context.ts';
import { askDayCounts, confirmEmpty } from '../../src/source/counts.ts';
import { resolveSeries } from '../../src/source/series.ts';
import { answer, breakOff, clientOf, type Listener, it as test } from './fetch/listener.ts';

const DATE = '2026-01-05';
const JOB: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: ['IMO9321483'],
  select: ['flat/{vessel}/*'],
  transport: 'ndjson',
  verify: 'exact',
};

function contextOf(listener: Listener): SourceContext {
  const day = { job: JOB.name, vessel: 'IMO9321483', date: DATE };
  const ports = { client: clientOf(listener), log: silentLog };
  return createSourceContext(ports, JOB, day, new AbortController().signal);
}

/** Lines as the array that statistics are asked for as. */
const array = (lines: string) => answer(`[${lines.trimEnd().split('\n').join(',')}]`);

/** Lines of windows: hour of the day, and readings in it. */
const windows = (...hours: readonly [hour: number, count: number][]) =>
  hours
    .map(([hour, count]) =>
      line(hour, { count, first_time: at(hour, 1), last_time: at(hour, count === 1 ? 1 : 20) }),
    )
    .join('');

const SERIES = { expressions: ['flat/IMO9321483/*'], idOf: new Map([['a', 'Speed']]) };

/** An instant of the day, as text. */
function at(hour: number, minute = 0): string {
  const millis = dayRange(DATE).fromMicros / 1_000 + hour * 3_600_000 + minute * 60_000;
  return new Date(millis).toISOString().replace('Z', '000Z');
}

function line(hour: number, aggregations: Record<string, unknown>): string {
  return `${JSON.stringify({ timestamp: at(hour), id: 'a', aggregations })}\n`;
}

test('a try that broke off leaves nothing behind', async ({ listener }) => {
  listener.script(
    breakOff(Buffer.from(`[${windows([0, 5])},${windows([1, 7])}`)),
    array(windows([0, 5], [1, 7], [2, 1])),
  );
  const context = contextOf(listener);
  const counts = await askDayCounts(context, SERIES);
  expect([0, 1, 2].map((hour) => counts.hourTotal(hour))).toEqual([5, 7, 1]);
  expect(context.stats).toMatchObject({ requests: 2, retries: 1 });
});

test('windows outside the day are dropped, and whole hours are asked for', async ({ listener }) => {
  listener.script(array(windows([-1, 3], [23, 4], [24, 5])));
  const counts = await askDayCounts(contextOf(listener), SERIES);
  expect(counts.total()).toBe(4);
  const { searchParams } = new URL(listener.seen[0]!.url, listener.origin);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    aggregations: 'count,first_time,last_time',
    window: '1h',
    window_edges: 'whole',
  });
});

test('the hour of a count is that of its window', async ({ listener }) => {
  listener.script(array(windows([5, 60])));
  const counts = await askDayCounts(contextOf(listener), SERIES);
  expect(counts.hour('a', 5)).toMatchObject({ count: 60 });
});

/** The contract's own spelling, which is read in one pass, and another one of the same. */
const SPELLINGS: readonly [name: string, spell: (lines: string) => string][] = [
  ['as the contract spells them', (lines) => lines],
  ['with spaces', (lines) => lines.replaceAll('"id":', '"id": ')],
];

describe.each(SPELLINGS)('statistics that contradict themselves, %s', (_, spell) => {
  const times = { first_time: at(5, 1), last_time: at(5, 59) };
  const TOLD: readonly [what: string, lines: string, message: string][] = [
    [
      'a first time outside of the window',
      line(5, { count: 60, ...times, first_time: at(24) }),
      'first and last times',
    ],
    ['a first time before the window', line(5, { count: 60, ...times, first_time: at(4, 59) }), 'times'],
    ['a last time outside of the window', line(5, { count: 60, ...times, last_time: at(6) }), 'times'],
    [
      'a first time after the last',
      line(5, { count: 2, first_time: at(5, 9), last_time: at(5, 8) }),
      'times',
    ],
    [
      'one reading of two times',
      line(5, { count: 1, ...times }),
      'a count of 1 and the first and last times',
    ],
    ['no readings, with times', line(5, { count: 0, ...times }), 'a count of 0 and a reading at'],
    ['no count, with times', line(5, times), 'no count and a reading at'],
    ['readings without times', line(5, { count: 3 }), 'no first or no last time'],
    ['readings without a last time', line(5, { count: 3, first_time: at(5, 1), last_time: null }), 'no last'],
    ['fewer than no readings', line(5, { count: -3 }), 'a count of -3'],
    ['a window twice', windows([5, 3], [6, 3], [5, 3]), "'count' twice"],
    ['a window that begins within an hour', windows([5.5, 3]), 'a window that begins at'],
  ];

  test.for(TOLD)('%s', async ([, lines, message], { listener }) => {
    listener.script(array(spell(lines)));
    const error = await askDayCounts(contextOf(listener), SERIES).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'counts-disagree' });
    expect(messageOf(error)).toContain('contradict themselves: series Speed in the hour from 2026-01-05T05:');
    expect(messageOf(error)).toContain(message);
  });

  test('a window without readings is none', async ({ listener }) => {
    const none = line(5, { count: 0, first_time: null }) + line(6, { count: 0 });
    listener.script(array(spell(none + windows([7, 2]))));
    const counts = await askDayCounts(contextOf(listener), SERIES);
    expect(counts.total()).toBe(2);
  });
});

describe('windows in more than one row', () => {
  const spaced = SPELLINGS[1]![1];
  const both = [windows([5, 3]) + spaced(windows([5, 3])), spaced(windows([5, 3])) + windows([5, 3])];

  test.for(both)('contradict themselves where they say anything twice, %#', async (lines, { listener }) => {
    listener.script(array(lines));
    const error = await askDayCounts(contextOf(listener), SERIES).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'counts-disagree' });
    expect(messageOf(error)).toContain("'count' twice");
  });

  const nothing = line(5, { count: null, first_time: null });
  const parts = line(5, { count: 3 }) + line(5, { first_time: at(5, 1) }) + line(5, { last_time: at(5, 20) });
  const whole = [nothing + windows([5, 3]), windows([5, 3]) + nothing, parts, nothing + parts];

  test.for(whole)('are put together where they do not, %#', async (lines, { listener }) => {
    listener.script(array(lines));
    const counts = await askDayCounts(contextOf(listener), SERIES);
    const { fromMicros } = dayRange(DATE);
    const minute = 60_000_000;
    expect(counts.hour('a', 5)).toEqual({
      count: 3,
      firstMicros: fromMicros + 301 * minute,
      lastMicros: fromMicros + 320 * minute,
    });
    expect(counts.total()).toBe(3);
  });
});

describe('different series', () => {
  const lines = (count: number) => {
    const times = { first_time: at(5, 1), last_time: at(5, 1) };
    const row = { timestamp: at(5), aggregations: { count: 1, ...times } };
    return Array.from({ length: count }, (_, i) => `${JSON.stringify({ ...row, id: `s${i}` })}\n`).join('');
  };

  test('up to the limit are counted, beyond it are an error that names it, and what was asked', async ({
    listener,
  }) => {
    listener.script(array(lines(MAX_SERIES)), array(lines(MAX_SERIES) + windows([6, 2])));
    expect((await askDayCounts(contextOf(listener), SERIES)).total()).toBe(MAX_SERIES);
    const error = await askDayCounts(contextOf(listener), SERIES).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'too-many-series' });
    expect(messageOf(error)).toContain('statistics of flat/IMO9321483/* in [2026-01-05T');
    expect(messageOf(error)).toContain(`got more than ${MAX_SERIES} different series`);
    expect(listener.seen).toHaveLength(2);
  });

  test('are limited where a day that counts none is confirmed', async ({ listener }) => {
    const reading = (i: number) => `${JSON.stringify({ id: `s${i}`, timestamp: at(-1), value: 1 })}\n`;
    listener.script(answer(Array.from({ length: MAX_SERIES + 1 }, (_, i) => reading(i)).join('')));
    const series = { ...SERIES, unmatched: [], others: [] };
    await expect(confirmEmpty(contextOf(listener), series)).rejects.toMatchObject({
      code: 'too-many-series',
    });
  });

  test('of a selection are limited, those of other vessels are none', async ({ listener }) => {
    const element = (i: number, imo: string) => ({
      id: `IMO${imo}/${i}`,
      timeSeriesId: `s${i}`,
      vessel: { imo },
    });
    const all = Array.from({ length: MAX_SERIES + 1 }, (_, i) => element(i, i < 3 ? '9321483' : '9322853'));
    listener.script(answer(JSON.stringify(all)));
    expect((await resolveSeries(contextOf(listener))).idOf.size).toBe(3);
    const own = all.map((_, i) => element(i, '9321483'));
    listener.script(answer(JSON.stringify(own)));
    await expect(resolveSeries(contextOf(listener))).rejects.toMatchObject({ code: 'too-many-series' });
  });
});
