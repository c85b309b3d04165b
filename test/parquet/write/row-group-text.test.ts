/** Row groups that close by bytes of JSON text: no day of many or large texts is too large for one. */
import { expect, it } from 'vitest';
import type { ColumnBatch, EncodedRowGroup } from '../../../src/core/model/index.ts';
import {
  appendJsonText,
  createColumnBatch,
  createSeriesDictionary,
  JSON_TEXT,
  ROW_GROUP_ROWS,
  ROW_GROUP_TEXT_BYTES,
} from '../../../src/core/model/index.ts';
import type { RowGroupBuilder } from '../../../src/parquet/write/index.ts';
import { createMeasurementRowGroups, createStatisticsRowGroups } from '../../../src/parquet/write/index.ts';
import { batchOf, DAY_MICROS, fileOf, sealAll } from './lake-file.ts';
import { encoderHere, readerHere } from './readers.ts';

const MIB = 1024 * 1024;

const reader = await readerHere();
const encoder = encoderHere();

const dictionary = createSeriesDictionary(['a']);

function build(rowGroupTextBytes?: number) {
  const common = { rowGroupRows: ROW_GROUP_ROWS, rowGroupTextBytes, dictionary, encoder };
  return createMeasurementRowGroups({ ...common, idOf: (id) => id });
}

/** Texts of one series at given microseconds of the day. */
const texts = (...readings: [micros: number, text: string][]) =>
  batchOf(
    readings.map(([micros, value]) => ({ micros: DAY_MICROS + micros, series: 'a', value })),
    dictionary,
  );

function appendAll(builder: RowGroupBuilder<ColumnBatch>, batch: ColumnBatch): void {
  builder.append(batch, 0, batch.rows);
}

/** `count` texts of `bytes` each, told apart by their first digits. */
function longTexts(count: number, bytes: number, microsOf: (row: number) => number): ColumnBatch {
  const batch = createColumnBatch(count);
  const text = Buffer.alloc(bytes, 'x');
  text.write('"', bytes - 1);
  for (let row = 0; row < count; row++) {
    text.write(`"${String(row).padStart(9, '0')}`);
    batch.words[2 * row] = appendJsonText(batch.jsonText, text, 0, bytes);
    batch.kinds[row] = JSON_TEXT;
    batch.timestampMicros[row] = DAY_MICROS + microsOf(row);
  }
  batch.rows = count;
  return batch;
}

/** Append a batch again and again, a microsecond later each time, sealing as an export does. */
async function seal(builder: RowGroupBuilder<ColumnBatch>, batch: ColumnBatch, times: number) {
  const groups: EncodedRowGroup[] = [];
  for (let time = 0; time < times; time++) {
    appendAll(builder, batch);
    groups.push(...(await sealAll(builder, time === times - 1)));
    for (let row = 0; row < batch.rows; row++) batch.timestampMicros[row]! += batch.rows;
  }
  return groups;
}

it('closes at the first timestamp change after so many bytes', () => {
  const builder = build(10);
  appendAll(builder, texts([1, '"45"'], [2, '"9012"'], [2, '"at the same time"']));
  expect(builder.sealableRows()).toBe(0);
  appendAll(builder, texts([2, '"and more"'], [3, '"4"'], [4, '"5"']));
  expect(builder.sealableRows()).toBe(4);
});

it('forgets that it was full when the texts that made it so are dropped', () => {
  const builder = build(10);
  appendAll(builder, texts([1, '"4"'], [2, '"long enough"'], [2, '1']));
  expect(builder.sealableRows()).toBe(0);
  builder.dropFrom(DAY_MICROS + 2);
  appendAll(builder, texts([2, '"2"'], [3, '"3"']));
  expect(builder.sealableRows()).toBe(0);
  appendAll(builder, texts([4, '"long enough"'], [5, '"5"']));
  expect(builder.sealableRows()).toBe(4);
});

it('takes 250,000 readings of 574 bytes, 137 MiB, in row groups of 64 MiB of text', async () => {
  const builder = build();
  const groups = await seal(
    builder,
    longTexts(10_000, 574, (row) => row),
    25,
  );
  const least = Math.ceil(ROW_GROUP_TEXT_BYTES / 574);
  expect(groups.map(({ rows }) => rows)).toEqual([least, least, 250_000 - 2 * least]);
  const found = await reader.query(
    fileOf('measurements', groups),
    'select count(*), count(distinct timestamp), sum(length(json_value)), min(json_value[2:10]), max(json_value[2:10]) from FILE',
  );
  expect(found).toEqual([[250_000n, 250_000n, 143_500_000n, '000000000', '000009999']]);
});

it('takes one timestamp of 128 MiB, and single texts of 32 MiB', async () => {
  const builder = build();
  appendAll(builder, texts([0, '"before"']));
  appendAll(
    builder,
    longTexts(4, 32 * MIB, () => 1),
  );
  expect(builder.sealableRows()).toBe(0);
  appendAll(builder, texts([2, '"after"']));
  const groups = await sealAll(builder);
  expect(groups.map(({ rows }) => rows)).toEqual([5, 1]);
  const found = await reader.query(
    fileOf('measurements', groups),
    `select epoch_us(timestamp) - ${DAY_MICROS}, count(*), max(length(json_value)) from FILE group by 1 order by 1`,
  );
  expect(found).toEqual([
    [0n, 1n, 8n],
    [1n, 4n, BigInt(32 * MIB)],
    [2n, 1n, 7n],
  ]);
});

it('counts the texts of all columns of statistics', () => {
  const builder = createStatisticsRowGroups({
    rowGroupRows: 1_000,
    rowGroupTextBytes: 20,
    aggregations: ['count', 'first_val', 'last_val'],
    idOf: (id) => id,
    encoder,
  });
  const rows = Array.from({ length: 6 }, (_, n) => ({
    timestampMicros: DAY_MICROS + Math.floor(n / 2),
    id: `${n}`,
    values: new Map(Object.entries({ count: '1', first_val: '"45"', last_val: '"90"' })),
  }));
  builder.append(rows, 0, 6);
  expect(builder.sealableRows()).toBe(4);
});
