/** Decoders that follow each other have the same memory: none may see what another one left or is about to write. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSeriesDictionary, timestampMicros } from '../../../src/core/model/index.ts';
import { createReadingDecoder, createStatisticsDecoder, Spares } from '../../../src/source/decode/index.ts';
import { poisonSpares } from '../../helpers/poisoned-spares.ts';
import { createRowCollector, formatDouble, formatRow } from './decoded-rows.ts';

const DAY_MICROS = Date.parse('2026-01-05T00:00:00Z') * 1_000;
const isoOf = (second: number) =>
  new Date(DAY_MICROS / 1_000 + second * 1_000).toISOString().replace('Z', '000Z');

let poisoned: ReturnType<typeof poisonSpares>;
beforeEach(() => {
  poisoned = poisonSpares();
});
afterEach(() => {
  poisoned.restore();
  expect(poisoned.faults).toEqual([]);
});

// Long ones, and such as share their first bytes, beside UUIDs.
const id = fc.oneof(
  fc.constantFrom('a', 'é', '', 'a\\b', '0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a01', 'x'.repeat(70)),
  fc.uuid(),
);
const row = fc.record({ id, second: fc.nat(86_399), value: fc.integer({ min: -1e9, max: 1e9 }) });
const rows = fc.array(row, { maxLength: 30 }).map((all) => all.sort((a, b) => a.second - b.second));

interface Row {
  readonly id: string;
  readonly second: number;
  readonly value: number;
}

/** A decoder of either kind, given a piece at a time. */
function readings(all: readonly Row[]) {
  const { dictionary, rows, onBatch } = createRowCollector();
  const lines = all.map(({ id, second, value }) =>
    JSON.stringify({ id, timestamp: isoOf(second), value: value + 0.5 }),
  );
  const expected = all.map(({ id, second, value }) =>
    formatRow(id, DAY_MICROS + second * 1e6, formatDouble(value + 0.5)),
  );
  const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch });
  return { decoder, body: Buffer.from(lines.join('\n')), check: () => expect(rows).toEqual(expected) };
}

function statistics(all: readonly Row[]) {
  const found: unknown[] = [];
  const body = all.map(({ id, second, value }) => ({
    timestamp: isoOf(0),
    id,
    aggregations: { count: Math.abs(value), first_time: isoOf(second), last_time: isoOf(second) },
  }));
  const decoder = createStatisticsDecoder({
    ...{ shape: 'array', format: 'json', dictionary: createSeriesDictionary() },
    onRow: ({ id, values }) =>
      found.push([id, Number(values.get('count')), timestampMicros(JSON.parse(values.get('first_time')!))]),
    onCounted: ({ id, count, firstMicros }) => found.push([id, count, firstMicros]),
  });
  const expected = all.map(({ id, second, value }) => [id, Math.abs(value), DAY_MICROS + second * 1e6]);
  return { decoder, body: Buffer.from(JSON.stringify(body)), check: () => expect(found).toEqual(expected) };
}

test('answers that are decoded by turns, one after the other, or not to their end', () => {
  const answer = fc.record({
    kind: fc.constantFrom(readings, statistics),
    all: rows,
    /** Nobody reads on after so many pieces. */
    pieces: fc.oneof({ weight: 3, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, fc.nat(3)),
  });
  fc.assert(
    fc.property(
      fc.array(answer, { minLength: 1, maxLength: 8 }),
      fc.infiniteStream(fc.nat(7)),
      (answers, turns) => {
        const open = answers.map(({ kind, all, pieces }) => ({ ...kind(all), at: 0, left: pieces }));
        while (open.length > 0) {
          const turn = turns.next().value! % open.length;
          const { decoder, body, at, check, left } = open[turn]!;
          decoder.push(body.subarray(at, at + 150));
          open[turn]!.at += 150;
          if (--open[turn]!.left <= 0 || left <= 0) open.splice(turn, 1);
          else if (at + 150 >= body.length) {
            decoder.end();
            check();
            open.splice(turn, 1);
          }
        }
      },
    ),
  );
});

test('what has ended takes nothing more, and gives its memory back once', () => {
  for (const { decoder, body, check } of [
    readings([{ id: 'a', second: 1, value: 1 }]),
    statistics([{ id: 'a', second: 1, value: 1 }]),
  ]) {
    decoder.push(body);
    decoder.end();
    expect(() => decoder.push(body)).toThrow(RangeError);
    try {
      decoder.end();
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
    check();
    const [one, other] = [
      readings([{ id: 'b', second: 2, value: 2 }]),
      readings([{ id: 'c', second: 3, value: 3 }]),
    ];
    for (const { decoder, body } of [one, other]) decoder.push(body);
    for (const { decoder, check } of [one, other]) {
      decoder.end();
      check();
    }
  }
});

/** What makes a decoder throw: in the body, or by who takes its rows. */
type Ill = 'cut' | 'malformed' | 'taker' | 'none';
const ill = fc.constantFrom<Ill>('cut', 'malformed', 'taker', 'none');

/** A decoder of readings of one series, of which so many are taken before the taker throws. */
function illReadings(name: string, count: number, kind: Ill) {
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ id: name, timestamp: isoOf(n), value: kind === 'taker' ? `${name} ${n}` : n + 0.5 }),
  );
  const { dictionary, rows, onBatch } = createRowCollector();
  const decoder = createReadingDecoder({
    ...{ format: 'ndjson', dictionary },
    onBatch: (batch) => {
      if (kind === 'taker' && rows.length > 0) throw new Error('the taker has had enough');
      onBatch(batch);
    },
  });
  const whole = lines.join('\n');
  const body = kind === 'cut' ? whole.slice(0, -3) : kind === 'malformed' ? `${whole}\n{"id":1}` : whole;
  const expected = lines.map((_, n) => formatRow(name, DAY_MICROS + n * 1e6, formatDouble(n + 0.5)));
  return { decoder, body: Buffer.from(body), rows, expected };
}

/** Calls that a reader may still make when all is over. */
const CALLS = ['push', 'flush', 'end'] as const;

test('what failed, was cut, or ended, and is called all the same, touches nothing of those that are at work', () => {
  const one = fc.record({
    kind: ill,
    count: fc.integer({ min: 1, max: 40 }),
    step: fc.integer({ min: 20, max: 900 }),
  });
  const calls = fc.array(fc.tuple(fc.nat(20), fc.constantFrom(...CALLS)), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(one, { minLength: 2, maxLength: 8 }), calls, (all, calls) => {
      const over: ReturnType<typeof illReadings>[] = [];
      const attempt = (act: () => void): boolean => {
        try {
          act();
          return true;
        } catch {
          return false;
        }
      };
      const disturb = (at: number) => {
        const [which, call] = calls[at % Math.max(1, calls.length)] ?? [0, 'end'];
        const dead = over[which % Math.max(1, over.length)];
        if (dead) attempt(() => (call === 'push' ? dead.decoder.push(dead.body) : dead.decoder[call]()));
      };
      for (const [index, { kind, count, step }] of all.entries()) {
        const reading = illReadings(`series ${index}`, count, kind);
        const { decoder, body, rows, expected } = reading;
        let isWhole = true;
        for (let at = 0; at < body.length && isWhole; at += step) {
          isWhole = attempt(() => decoder.push(body.subarray(at, at + step)));
          disturb(index + at);
        }
        isWhole &&= attempt(() => decoder.end());
        if (kind !== 'taker')
          expect([isWhole, rows]).toEqual([
            kind === 'none',
            kind === 'cut' ? expected.slice(0, -1) : expected,
          ]);
        over.push(reading);
      }
    }),
    { numRuns: 150 },
  );
  expect(poisoned.usedAgain).toBeGreaterThan(10);
});

test('tables that long ids have made large are not kept', () => {
  const given = vi.mocked(Spares.prototype.give).mock;
  const tables = () => given.calls.filter(([one]) => 'spellings' in (one as object)).length;
  for (const [letters, kept] of [
    [40, 1],
    [4_000, 0],
  ] as const) {
    const before = tables();
    const all = Array.from({ length: 100 }, (_, n) => ({
      id: `${n} `.padEnd(letters, 'x'),
      second: n,
      value: n,
    }));
    const { decoder, body, check } = readings(all);
    decoder.push(body);
    decoder.end();
    check();
    expect([letters, tables() - before]).toEqual([letters, kept]);
  }
});
