/** Decoders that follow each other have the same memory: none may see what another one left or is about to write. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReadingDecoder, createStatisticsDecoder } from '../../src/decode/index.ts';
import { createSeriesDictionary, timestampMicros } from '../../src/model/index.ts';
import { createRowCollector, formatDouble, formatRow } from './decoded-rows.ts';

const DAY_MICROS = Date.parse('2026-01-05T00:00:00Z') * 1_000;
const isoOf = (second: number) =>
  new Date(DAY_MICROS / 1_000 + second * 1_000).toISOString().replace('Z', '000Z');

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
