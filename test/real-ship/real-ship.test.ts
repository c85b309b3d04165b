/** Readings that we have not made: a real ship's, from the recording in the registry to SQL over the proven lake. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDays, microsToDate } from '../../src/core/model/index.ts';
import { askService, duckRows, expectExactDay } from '../helpers/lake.ts';
import type { RunningCli } from '../helpers/run.ts';
import { exportEnv, newLake, runCli, startCli, writeJobs } from '../helpers/run.ts';
import { newTempFolder } from '../helpers/temp.ts';
import type { Frame } from './frames.ts';
import { parseFrames } from './frames.ts';
import type { ShipReadings } from './readings.ts';
import { linesOf, readingsOf } from './readings.ts';
import { fetchRecording, NoRecordingError, RECORDED_ON, SHIP } from './recording.ts';

const VESSEL = `IMO${SHIP.imo}`;
const EXPRESSIONS = [`flat/${VESSEL}/*`];
const RANGE = ['--from', RECORDED_ON, '--to', '2014-08-16'];
const NEW = '2026-09-10';

/** The recording, where a registry has it. A registry may be a mirror of what the project needs: in CI too. */
async function recording(): Promise<string | undefined> {
  try {
    return await fetchRecording();
  } catch (error) {
    if (!(error instanceof NoRecordingError)) throw error;
    process.stderr.write(`\n*** The tests with a real ship's readings are skipped: ${error.message} ***\n\n`);
    return undefined;
  }
}

const recorded = await recording();

describe.skipIf(recorded === undefined)('ten minutes of a real ship', async () => {
  const scratch = await newTempFolder();
  const lake = await newLake();
  let frames: readonly Frame[];
  let ship: ShipReadings;
  let served: RunningCli;
  let service: { baseUrl: string; authUrl: string; clientId: string; clientSecret: string };
  let env: Record<string, string>;

  beforeAll(async () => {
    frames = parseFrames(recorded!);
    ship = readingsOf(frames, SHIP);
    const file = join(scratch.path, 'ship.ndjson');
    await writeFile(file, linesOf(ship));
    served = startCli(['service', '--port', '0', '--replay', file], { LOG_LEVEL: 'warn' });
    await served.until('stdout', /\n/);
    service = JSON.parse(served.stdout);
    const select = ['flat/{vessel}/*'];
    const vessels = { discover: 'flat/*/*' };
    const jobs = await writeJobs({
      measurements: { dataset: 'measurements', vessels, select },
      metadata: { dataset: 'metadata', vessels, select },
      statistics: {
        dataset: 'statistics',
        vessels,
        select,
        window: '1m',
        aggregations: ['mean', 'max', 'count'],
      },
    });
    env = exportEnv(service, lake.url, jobs);
    const ran = await runCli(['run', 'measurements', 'statistics', ...RANGE], env);
    expect(ran.code, ran.stderr).toBe(0);
    // Metadata have no past: today's, or tomorrow's where midnight comes in between.
    const today = microsToDate(Date.now() * 1_000);
    const snapshot = await runCli(['run', 'metadata', '--from', today, '--to', addDays(today, 2)], env);
    expect(snapshot.code, snapshot.stderr).toBe(0);
  });
  afterAll(async () => {
    served?.process.kill('SIGTERM');
    await served?.ended;
    if (env !== undefined) await rm(env.JOBS_DIR!, { recursive: true });
    await lake[Symbol.asyncDispose]();
    await scratch.remove();
  });

  test('every frame of the tables is among the readings, and nothing else', () => {
    expect(frames).toHaveLength(21_595);
    // Heading, battery, speed, depth, log, position and course have no field that is always absent.
    const count = (pgn: number) => frames.filter((frame) => frame.pgn === pgn).length;
    const readings = (name: string) => ship.readings.filter(({ id }) => id.endsWith(`/${name}`)).length;
    expect(readings('Heading 160')).toBe(count(127250));
    expect(readings('Position 160')).toBe(count(129025));
    expect(readings('GNSS Position 160')).toBe(count(129029));
    expect(readings('Speed Over Ground 160')).toBe(count(129026));
    expect(readings('Apparent Wind Speed 115')).toBe(count(130306));
    expect(ship.series.size).toBe(18);
  });

  test('the day is exported exactly, and proven', async () => {
    const day = { job: 'measurements', vessel: VESSEL, date: RECORDED_ON };
    const lines = await expectExactDay(service, { lakeDir: lake.dir, day, expressions: EXPRESSIONS });
    expect(lines).toHaveLength(ship.readings.length);
    const deep = await runCli(['verify', ...RANGE, '--deep', '--json'], env);
    expect(deep.code, deep.stdout + deep.stderr).toBe(0);
    const { findings, days } = JSON.parse(deep.stdout);
    expect(findings ?? days.flatMap(({ findings: found = [] }) => found)).toEqual([]);
  });

  test('the lake holds what the instruments sent, by SQL against the frames', async () => {
    const from = `read_parquet('${lake.dir}/measurements/*/*/*.parquet', hive_partitioning = true)`;
    const rows = await duckRows(
      `SELECT id, count(*)::INT, min(double_value), max(double_value), epoch_ms(min(timestamp))::DOUBLE,
              epoch_ms(max(timestamp))::DOUBLE FROM ${from} WHERE double_value IS NOT NULL GROUP BY id ORDER BY id`,
    );
    const byId = Map.groupBy(
      ship.readings.filter(({ value }) => value.includes('.') && !value.startsWith('{')),
      ({ id }) => id,
    );
    const expected = [...byId]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, readings]) => {
        const values = readings.map(({ value }) => Number(value));
        const times = readings.map(({ timestamp }) => Date.parse(timestamp));
        return [
          id,
          readings.length,
          Math.min(...values),
          Math.max(...values),
          Math.min(...times),
          Math.max(...times),
        ];
      });
    expect(rows).toEqual(expected);
    // The first message of GNSS, by hand from its bytes: fc ed c4 28 is half its latitude, 0x0a the satellites.
    const [[position]] = (await duckRows(
      `SELECT json_value FROM ${from} WHERE id LIKE '%/GNSS Position 160' ORDER BY timestamp LIMIT 1`,
    )) as [[string]];
    expect(position).toBe('{"latitude":59.7250108000000000,"longitude":24.7366770000000000}');
    // A sailing yacht in the Gulf of Finland: at sea, at sailing speed, and the log agrees with the way made good.
    const [[miles, log]] = (await duckRows(
      `SELECT (SELECT avg(double_value) FROM ${from} WHERE id LIKE '%/Speed Over Ground%') * 600,
              (SELECT max(long_value) - min(long_value) FROM ${from} WHERE id LIKE '%/Trip Distance%')::DOUBLE`,
    )) as [[number, number]];
    expect(Math.abs(miles - log) / log).toBeLessThan(0.2);
  });

  test('metadata and statistics of the ship are exported too', async () => {
    const snapshot = await duckRows(
      `SELECT id, unit_of_measure, vessel_name, maker_range_low, maker_range_high
       FROM read_parquet('${lake.dir}/metadata/*/*/*.parquet') WHERE id LIKE '%/Heading 160'`,
    );
    expect(snapshot).toEqual([[`${VESSEL}/Heading 160`, 'rad', 'Aava', 0, 6.5532]]);
    const windows = await duckRows(
      `SELECT count(DISTINCT timestamp)::INT FROM read_parquet('${lake.dir}/statistics/*/*/*.parquet')`,
    );
    expect(windows).toEqual([[10]]);
  });

  test('the service serves the same from the lake as from the file', async () => {
    const again = startCli(['service', '--port', '0', '--data', lake.dir], { LOG_LEVEL: 'warn' });
    try {
      await again.until('stdout', /\n/);
      const fromLake = JSON.parse(again.stdout);
      const path = `/measurements/flat/${VESSEL}/*?from=${RECORDED_ON}&to=2014-08-16&format=ndjson`;
      const expected = await askService(service, path, { version: NEW });
      expect(expected.split('\n').length).toBe(ship.readings.length + 1);
      expect(await askService(fromLake, path, { version: NEW })).toBe(expected);
    } finally {
      again.process.kill('SIGTERM');
      await again.ended;
    }
  });
});
