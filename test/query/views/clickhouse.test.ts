/** What `views --for clickhouse` prints, run by ClickHouse and compared with what DuckDB makes of the files. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LAYOUTS, type Layout } from '../../../src/core/model/index.ts';
import { clickHouseForTests } from '../../helpers/clickhouse.ts';
import { duckRows } from '../../helpers/lake.ts';
import type { TestLake } from '../../helpers/run.ts';
import { openViewLakes, viewStatementsOf } from './view-lake.ts';

const open = clickHouseForTests();

describe.skipIf(open === undefined)('in ClickHouse', () => {
  let opened: Awaited<ReturnType<typeof openViewLakes<Layout>>>;
  let lake: TestLake;
  beforeAll(async () => {
    opened = await openViewLakes('plain', 'delta');
    lake = opened.lakes.plain;
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  async function openViews(layout: Layout, options: Parameters<typeof viewStatementsOf>[1] = {}) {
    const clickhouse = open!();
    const { url } = opened.lakes[layout];
    for (const statement of await viewStatementsOf(url, { for: 'clickhouse', ...options }))
      await clickhouse.run(statement);
    return clickhouse;
  }
  const files = (job: string) =>
    `read_parquet('${lake.dir}/${job}/*/*/*.parquet', hive_partitioning = true, union_by_name = true)`;
  const asTexts = (rows: readonly (readonly unknown[])[]) =>
    rows.map((row) => row.map((cell) => (cell === null ? null : String(cell))));

  test.for(LAYOUTS)(
    'of a %s lake, readings, windows, series and receipts have the rows that the files have',
    async (layout) => {
      await using clickhouse = await openViews(layout);
      const ours = await clickhouse.rows(`
      SELECT vessel, toString(date), tag, unit, toString(count()), toString(count(value)), toString(count(text)),
        toString(min(toUnixTimestamp64Micro(timestamp))), toString(max(toUnixTimestamp64Micro(timestamp)))
      FROM readings GROUP BY vessel, date, tag, unit ORDER BY vessel, date, tag`);
      const theirs = await duckRows(`
      SELECT vessel, date::VARCHAR, regexp_replace(m.id, '^IMO[0-9]+/', '') AS tag, any_value(s.unit_of_measure),
        count(*), count(coalesce(double_value, long_value)), count(json_value), min(epoch_us(timestamp)), max(epoch_us(timestamp))
      FROM ${files('measurements')} m
      JOIN (SELECT DISTINCT time_series_id, unit_of_measure FROM ${files('metadata')}) s USING (time_series_id)
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`);
      expect(ours).toEqual(asTexts(theirs));
      expect(ours.length).toBeGreaterThan(10);
      const counts = async (view: string, sql: string) =>
        expect(await clickhouse.rows(`SELECT toString(count()) FROM ${view}`), view).toEqual(
          asTexts(await duckRows(sql)),
        );
      await counts('windows', `SELECT count(*) FROM ${files('statistics')}`);
      await counts('series', `SELECT count(DISTINCT time_series_id) FROM ${files('metadata')}`);
      await counts('receipts', `SELECT count(*) FROM read_text('${lake.dir}/_ledger/*/*/*.json')`);
      const sums = `SELECT toString(sum(r.rows)), toString(max(r.finished_at) > toDateTime('2020-01-01')) FROM receipts r WHERE job = 'measurements'`;
      expect(await clickhouse.rows(sums)).toEqual([
        [String((await duckRows(`SELECT count(*) FROM ${files('measurements')}`))[0]![0]), '1'],
      ]);
    },
  );

  test.for(['mean', 'last', 'time-weighted'])(
    'wide by %s has the cells that DuckDB makes',
    async (aggregate) => {
      const options = { aggregate, columns: ['Speed Over Ground', 'Shaft Power'], window: '1h' };
      await using clickhouse = await openViews('plain', options);
      const ours = await clickhouse.rows(
        `SELECT vessel, toString(toUnixTimestamp64Micro(timestamp)), speed_over_ground, shaft_power FROM wide ORDER BY 1, 2`,
      );
      const statements = await viewStatementsOf(lake.url, { for: 'duckdb', ...options });
      for (const statement of statements) await duckRows(statement);
      const theirs = await duckRows(
        `SELECT vessel, epoch_us(timestamp)::VARCHAR, speed_over_ground, shaft_power FROM wide ORDER BY 1, 2`,
      );
      expect(ours.length).toBeGreaterThan(50);
      expect(ours.map((row) => row.slice(0, 2))).toEqual(theirs.map((row) => row.slice(0, 2)));
      for (const [index, row] of ours.entries())
        for (const column of [2, 3]) {
          const other = theirs[index]![column] as number | null;
          if (other === null) expect(row[column]).toBeNull();
          else expect(row[column]).toBeCloseTo(other, 8);
        }
    },
  );
});
