/** A large vessel-day that an exporter replaces while an answer is made from it: one version, or an error. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dayRange, silentLog } from '../../src/core/model/index.ts';
import { createEngine, type Engine } from '../../src/service/data/engine.ts';
import { openLakeSource } from '../../src/service/data/lake.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { openService } from './running-service.ts';
import { neverDue } from './work.ts';

const DATE = '2026-01-05';
const SERIES = '11111111-0000-4000-8000-000000000001';
const KEY = `measurements/vessel=IMO9074729/date=${DATE}/data.parquet`;
/** Of two slices. */
const ROWS = 300_000;
const PATH = `/measurements/id/${SERIES}?from=${DATE}&to=2026-01-06`;

describe('a large vessel-day that is replaced while it is read', () => {
  const dir = mkdtempSync(join(tmpdir(), 'service-lake-replaced-'));
  const dataDir = join(dir, 'lake');
  const versions: Uint8Array[] = [];

  /** As an exporter publishes it. */
  async function publish(version: 1 | 2): Promise<void> {
    const store = createLocalStore(dataDir);
    const upload = await store.begin(KEY, `version-${version}`);
    await store.publish(upload, [await store.append(upload, 1, versions[version - 1]!)]);
    await store.close();
  }

  beforeAll(async () => {
    mkdirSync(dataDir);
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const connection = await instance.connect();
    for (const version of [1, 2]) {
      const path = join(dir, `${version}.parquet`);
      // The same times in files of the same size: only the values tell them apart.
      await connection.run(
        `COPY (SELECT make_timestamptz(epoch_us(TIMESTAMPTZ '${DATE}T00:00:00Z') + range * 288000) AS timestamp,
         '${SERIES}' AS time_series_id, '${SERIES}' AS id, ${version}::BIGINT AS long_value,
         NULL::DOUBLE AS double_value, NULL::VARCHAR AS json_value FROM range(${ROWS}))
         TO '${path}' (FORMAT parquet)`,
      );
      versions.push(readFileSync(path));
    }
    connection.closeSync();
    instance.closeSync();
    expect(versions[0]!.length).toBe(versions[1]!.length);
  });
  beforeEach(() => publish(1));
  afterAll(() => rmSync(dir, { recursive: true }));

  async function sizeOf(body: AsyncIterable<Uint8Array>): Promise<number> {
    let sizeBytes = 0;
    for await (const chunk of body) sizeBytes += chunk.length;
    return sizeBytes;
  }

  /** Wait until readings have come, which are there to be read: JSON begins with a bracket before anything is looked up. */
  async function untilReadings(response: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for (let sizeBytes = 0; sizeBytes < 1_000; sizeBytes = Buffer.concat(chunks).length) {
      await once(response, 'readable');
      const chunk: Buffer | null = response.read();
      if (chunk !== null) chunks.push(chunk);
    }
    response.unshift(Buffer.concat(chunks));
  }

  /** A service, and an answer of it of which nothing has been read. */
  async function ask(path: string, headers: Record<string, string> = {}) {
    const warned: string[] = [];
    const log = { ...silentLog, error: (fields: object) => void warned.push(JSON.stringify(fields)) };
    const opened = await openService({ data: { dataDir }, log });
    const authorization = `Bearer ${await opened.token()}`;
    const request = get(opened.service.baseUrl + path, {
      headers: { authorization, ...headers },
      agent: false,
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { response, warned, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  }

  test.each(['json', 'ndjson'])('the answer is cut off, and the log says why: %s', async (format) => {
    await using asked = await ask(`${PATH}&format=${format}`);
    const { response, warned } = asked;
    expect(response.statusCode).toBe(200);
    await untilReadings(response);
    await publish(2);
    await expect(response.toArray()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(response.complete).toBe(false);
    expect(warned.join()).toContain(KEY);
    expect(warned.join()).toContain('replaced');
  });

  test('one that is removed ends it too', async () => {
    await using asked = await ask(`${PATH}&format=ndjson`);
    await untilReadings(asked.response);
    rmSync(join(dataDir, KEY));
    await expect(sizeOf(asked.response)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(asked.warned.join()).toContain(KEY);
  });

  test('what comes after has the new version', async () => {
    await using asked = await ask(`${PATH}&format=ndjson`);
    await publish(2);
    await sizeOf(asked.response).catch(() => {});
    await using again = await ask(
      `/statistics/id/${SERIES}?from=${DATE}&to=2026-01-06&window=1d&aggregations=min,count`,
    );
    const text = Buffer.concat(await again.response.toArray()).toString();
    expect(text).toBe(
      `[{"timestamp":"${DATE}T00:00:00.000000Z","${SERIES}:min":2},{"timestamp":"${DATE}T00:00:00.000000Z","${SERIES}:count":${ROWS}}]`,
    );
  });

  /** Replaces the day before or after the nth query that a reader of readings makes. */
  function replacingEngine(inner: Engine, step: { before?: number; after?: number }) {
    let queries = Number.NaN;
    const arm = () => {
      queries = 0;
    };
    const engine: Engine = {
      close: inner.close,
      async connect(signal) {
        const connection = await inner.connect(signal);
        return {
          async query(run) {
            const n = ++queries;
            if (n === step.before) await publish(2);
            const answer = await connection.query(run);
            if (n === step.after) await publish(2);
            return answer;
          },
          [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
        };
      },
    };
    return { engine, arm };
  }

  // It names the series, counts rows, and then asks for one slice after another.
  test.each([
    [{}, [1n], ROWS],
    [{ after: 2 }, [2n], ROWS],
    [{ before: 3 }, [], 0],
    [{ after: 3 }, [], 0],
    [{ before: 4 }, [1n], 'a part'],
    [{ after: 4 }, [1n], 'a part'],
  ])('at the query %o, its readings are of %o alone: %s', async (step, expected, expectedRows) => {
    const inner = createEngine(dataDir);
    try {
      const { engine, arm } = replacingEngine(inner, step);
      const source = await openLakeSource({ dataDir }, engine, silentLog);
      arm();
      const values = new Set<bigint>();
      let rows = 0;
      const read = async () => {
        const need = { values: true, interleaved: true };
        for await (const { batch } of source.read(source.series, dayRange(DATE), need, neverDue)) {
          rows += batch.rows;
          for (const value of batch.longs.subarray(0, batch.rows)) values.add(value);
        }
      };
      if (expectedRows === ROWS) await read();
      else await expect(read()).rejects.toMatchObject({ code: 'day-replaced' });
      expect([...values]).toEqual(expected);
      if (expectedRows === 'a part') expect(rows % ROWS).toBeGreaterThan(0);
      else expect(rows).toBe(expectedRows);
    } finally {
      await inner.close();
    }
  });
});
