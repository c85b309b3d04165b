import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService, VESSEL } from './running-service.ts';
import { readingOfLine } from './test-lake.ts';

describe('measurements as Parquet', () => {
  const dir = mkdtempSync(join(tmpdir(), 'service-parquet-'));
  let s: TestService;
  beforeAll(async () => {
    s = await openService();
  });
  afterAll(async () => {
    await s[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  async function rows(bytes: ArrayBuffer, select: string): Promise<unknown[][]> {
    const path = join(dir, 'answer.parquet');
    writeFileSync(path, Buffer.from(bytes));
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(select.replace('FILE', `'${path}'`));
    connection.closeSync();
    instance.closeSync();
    return reader.getRows();
  }

  test('has the contract’s columns and types', async () => {
    const bytes = await (
      await s.get(`/measurements/flat/${VESSEL}/Roll?last=1day&format=parquet`)
    ).arrayBuffer();
    const schema = await rows(bytes, 'SELECT name, type FROM parquet_schema(FILE) OFFSET 1');
    expect(schema).toEqual([
      ['timestamp', 'INT64'],
      ['id', 'BYTE_ARRAY'],
      ['long_value', 'INT64'],
      ['double_value', 'DOUBLE'],
      ['json_value', 'BYTE_ARRAY'],
    ]);
  });

  test('holds the readings of ndjson in their order, in milliseconds, one value column a row', async () => {
    const path = `/measurements/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-06`;
    const lines = (await s.text(`${path}&format=ndjson`)).trimEnd().split('\n');
    const bytes = await (await s.get(`${path}&format=parquet`)).arrayBuffer();
    const found = await rows(
      bytes,
      `SELECT "timestamp", id, long_value, double_value, json_value FROM read_parquet(FILE, file_row_number = true)
       ORDER BY file_row_number`,
    );
    expect(found).toHaveLength(lines.length);
    lines.forEach((line, i) => {
      const { timeSeriesId, timestamp, valueText } = readingOfLine(line);
      const long = /^-?\d+$/.test(valueText);
      const double = !long && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(valueText);
      expect(found[i]).toEqual([
        BigInt(Date.parse(timestamp)),
        timeSeriesId,
        long ? BigInt(valueText) : null,
        double ? Number(valueText) : null,
        long || double ? null : valueText,
      ]);
    });
  });

  test('a zero keeps its sign', async () => {
    await using own = await openService();
    const at = Date.UTC(2026, 0, 5) * 1_000;
    const version = { 'x-api-version': '2026-09-10' };
    const metadata = await own.json(`/metadata/flat/${VESSEL}/Roll`, version);
    const [series] = metadata as { timeSeriesId: string }[];
    own.service.overlay.removeReadings(series!.timeSeriesId);
    // Enough for a dictionary to pay.
    const values = Array.from({ length: 2_000 }, (_, n) => (n % 2 === 0 ? '0.0' : '-0.0'));
    own.service.overlay.addReadings(
      series!.timeSeriesId,
      values.map((valueText, n) => ({ timestampMicros: at + n * 1_000, valueText })),
    );
    const answer = await own.get(
      `/measurements/flat/${VESSEL}/Roll?from=2026-01-05&to=2026-01-06&format=parquet`,
    );
    const found = await rows(
      await answer.arrayBuffer(),
      'SELECT double_value FROM read_parquet(FILE, file_row_number = true) ORDER BY file_row_number',
    );
    expect(found).toEqual(values.map((text) => [Number(text)]));
  });

  test('an empty answer is a file without rows', async () => {
    const response = await s.get(
      `/measurements/flat/${VESSEL}/Roll?from=2019-01-01&to=2019-01-02&format=parquet`,
    );
    expect(response.headers.get('content-type')).toBe('application/vnd.apache.parquet');
    expect(
      await rows(await response.arrayBuffer(), 'SELECT count(*)::INTEGER FROM read_parquet(FILE)'),
    ).toEqual([[0]]);
  });

  test('several answers at once do not mix', async () => {
    const tags = ['Roll', 'Pitch', 'Heading', 'GPS Position'];
    const answers = await Promise.all(
      tags.map(async (tag) => {
        const response = await s.get(
          `/measurements/flat/${VESSEL}/${encodeURIComponent(tag)}?last=1day&format=parquet`,
        );
        return response.arrayBuffer();
      }),
    );
    for (const [i, tag] of tags.entries())
      expect(await rows(answers[i]!, 'SELECT DISTINCT id FROM read_parquet(FILE)')).toEqual([
        [`${VESSEL}/${tag}`],
      ]);
  });
});
