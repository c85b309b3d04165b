/** The fast way and the way for any JSON must say the same of every row, however it is spelled and cut. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timestampMicros } from '../../../src/core/model/index.ts';
import { parseInt64Text, parseTimestampText } from '../../../src/source/decode/number-lexeme.ts';
import { createStatisticsDecoder } from '../../../src/source/decode/statistics.ts';
import { cutAt } from './decoded-rows.ts';

interface Decoded {
  readonly rows: readonly (readonly unknown[])[];
  readonly fault: string | undefined;
  /** How many rows came the fast way. */
  readonly counted: number;
}

function decode(chunks: readonly Uint8Array[], fast: boolean, slabBytes: number): Decoded {
  const rows: unknown[][] = [];
  let counted = 0;
  const decoder = createStatisticsDecoder({
    shape: 'array',
    format: 'json',
    slabBytes,
    onRow: ({ id, timestampMicros, values }) => {
      const said = Object.fromEntries(values);
      const { count, first_time: first, last_time: last } = said;
      if (Object.keys(said).length !== 3 || count === undefined || !first || !last)
        rows.push([id, timestampMicros, said]);
      else
        rows.push([
          ...[id, timestampMicros, parseInt64Text(count)],
          ...[parseTimestampText(first), parseTimestampText(last)],
        ]);
    },
    ...(fast && {
      onCounted: ({ id, timestampMicros, count, firstMicros, lastMicros }) => {
        counted++;
        rows.push([id, timestampMicros, count, firstMicros, lastMicros]);
      },
    }),
  });
  try {
    for (const chunk of chunks) decoder.push(chunk);
    decoder.end();
    return { rows, fault: undefined, counted };
  } catch (error) {
    return { rows, fault: (error as { code?: string }).code ?? String(error), counted };
  }
}

const id = fc.constantFrom('0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a01', 'a', '', 'é', 'a\\"b', 'abc');
const time = fc.constantFrom(
  ...'2026-01-05T00:00:00.000000Z 2026-01-05T23:59:59.999999Z 2026-01-05T00:00:00Z'.split(' '),
  ...'2026-01-05T10:20:30.5Z 2026-01-05T10:20:30+00:00 2026-01-05T10:20:30+01:00'.split(' '),
  ...'2026-02-30T00:00:00Z'.split(' '),
);
const count = fc.constantFrom(...'0 1 1440 999999999999999 9007199254740993 01 -1 1.0 1e3 null'.split(' '));
const members = fc
  .tuple(count, time, time, fc.constantFrom('', '', '', '"mean":7.5', '"count":2', '"first_time":null'))
  .map(([n, first, last, more]) => [`"count":${n}`, `"first_time":"${first}"`, `"last_time":"${last}"`, more])
  .chain((texts) =>
    fc.shuffledSubarray(
      texts.filter((text) => text !== ''),
      { minLength: 2 },
    ),
  );
const row = fc
  .tuple(id, time, members, fc.constantFrom('', '', '', ' ', ',"more":{}'))
  .map(
    ([name, start, texts, odd]) =>
      `{"timestamp":"${start}","id":"${name}","aggregations":{${texts.join(',')}}${odd}}`,
  );

test('any rows, cut anywhere', () => {
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 4 }),
      fc.nat(200),
      (rows, cuts, slab) => {
        const body = Buffer.from(`[${rows.join(',')}]`);
        const chunks = cutAt(body, cuts);
        const { rows: fast, fault } = decode(chunks, true, 64 + slab);
        const slow = decode(chunks, false, 64 + slab);
        expect({ rows: fast, fault }).toEqual({ rows: slow.rows, fault: slow.fault });
      },
    ),
    { numRuns: 2_000 },
  );
});

test("rows in the contract's own spelling come the fast way, those with another aggregation do not", () => {
  const at = '2026-01-05T00:00:00.000000Z';
  const said = `"count":12,"first_time":"${at}","last_time":"2026-01-05T23:59:59.000000Z"`;
  const body = Buffer.from(
    `[{"timestamp":"${at}","id":"a","aggregations":{${said}}},\n {"timestamp":"${at}","id":"b","aggregations":{${said},"mean":1.5}}]`,
  );
  const { rows, counted } = decode([body], true, 4_096);
  const micros = timestampMicros(at) as number;
  expect(rows[0]).toEqual(['a', micros, 12, micros, micros + 86_399_000_000]);
  expect([rows.length, counted]).toEqual([2, 1]);
});
