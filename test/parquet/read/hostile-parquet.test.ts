import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { decodeParquetReadings } from '../../../src/source/decode/parquet-readings.ts';
import { arrowBody } from '../../source/decode/arrow-body.ts';
import { compressed, constantColumns, forgeParquet, plain } from './forged-parquet.ts';
import { HOSTILE_BODIES } from './hostile-parquet-bodies.ts';

interface Outcome {
  readonly name: string;
  readonly kind?: string;
  readonly code?: string;
  readonly message?: string;
}

/** What a process of its own says of each hostile body, and the most memory that it had. */
async function decodeElsewhere(): Promise<{ outcomes: Map<string, Outcome>; maxRssBytes: number }> {
  const child = spawn(process.execPath, [`${import.meta.dirname}/hostile-parquet-child.ts`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const outcomes = new Map<string, Outcome>();
  let maxRssBytes = Number.NaN;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line);
    if (said.maxRssBytes === undefined) outcomes.set(said.name, said);
    else maxRssBytes = said.maxRssBytes;
  }
  return { outcomes, maxRssBytes };
}

it('hostile bodies are refused with what was found and what is allowed, in bounded memory', async () => {
  const { outcomes, maxRssBytes } = await decodeElsewhere();
  for (const { name, code, message } of HOSTILE_BODIES) {
    const outcome = outcomes.get(name);
    expect({ name, kind: outcome?.kind, code: outcome?.code }).toEqual({ name, kind: 'DataError', code });
    expect(outcome?.message, name).toMatch(message);
    expect(outcome?.message, name).toMatch(/transport: ndjson/);
  }
  // The pages that come to 2 GiB are given up at 512 MiB; when those are collected is the engine's to say.
  expect(maxRssBytes).toBeLessThan(800e6);
});

async function outcomeOf(body: Uint8Array, maxRows?: number): Promise<{ rows: number; error: unknown }> {
  let rows = 0;
  const take = (batch: { rows: number }) => {
    rows += batch.rows;
  };
  const options = maxRows === undefined ? {} : { maxRows };
  return decodeParquetReadings(body, createSeriesDictionary(), take, options).then(
    () => ({ rows, error: undefined }),
    (error) => ({ rows, error }),
  );
}

it('a forged body that is sound is read, so what is refused is refused for its fault', async () => {
  const body = forgeParquet({ rows: 100_000, columns: constantColumns(100_000) });
  expect(body.length).toBeLessThan(1_150);
  expect(await outcomeOf(body)).toEqual({ rows: 100_000, error: undefined });
});

it('no more rows are read than the caller allows', async () => {
  const { error } = await outcomeOf(forgeParquet({ rows: 5_001, columns: constantColumns(5_001) }), 5_000);
  expect(error).toBeInstanceOf(DataError);
  expect(error).toMatchObject({
    code: 'page-too-large',
    message: expect.stringContaining('found 5001 rows, allowed are 5000'),
  });
});

it('whatever bytes are changed, cut or put in: rows, or a DataError', async () => {
  const cells = plain(...Array.from({ length: 64 }, (_, row) => BigInt(row * 1_000_003)));
  const levelsOf64 = Buffer.from([3, 0, 0, 0, 0x80, 0x01, 1]);
  const bodies = (['UNCOMPRESSED', 'GZIP', 'ZSTD', 'BROTLI'] as const).map((codec) => {
    const long = compressed(codec, 64, Buffer.concat([levelsOf64, cells]));
    return forgeParquet({ rows: 64, columns: { ...constantColumns(64), long_value: long } });
  });
  const rows = Array.from({ length: 64 }, (_, row) => ({
    millis: BigInt(row),
    id: `IMO9321483/tag ${row % 7}`,
    value: [BigInt(row), row / 8, `{"n":${row}}`][row % 3]!,
  }));
  const deltas = {
    timestamp: 'DELTA_BINARY_PACKED',
    id: 'DELTA_BYTE_ARRAY',
    json_value: 'DELTA_LENGTH_BYTE_ARRAY',
  } as const;
  bodies.push(Buffer.from(arrowBody(rows)));
  bodies.push(
    Buffer.from(arrowBody(rows, { compression: 'UNCOMPRESSED', isVersion2: true, encodings: deltas })),
  );
  for (const body of bodies) expect(await outcomeOf(body)).toEqual({ rows: 64, error: undefined });
  const change = fc.record({
    at: fc.nat(),
    bytes: fc.uint8Array({ maxLength: 6 }),
    kind: fc.constantFrom('overwrite', 'insert', 'cut'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...bodies),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (body, changes) => {
        let changed = Buffer.from(body);
        for (const { at, bytes, kind } of changes) {
          const place = at % (changed.length + 1);
          const rest = changed.subarray(kind === 'insert' ? place : place + bytes.length);
          changed = Buffer.concat(
            [changed.subarray(0, place), kind === 'cut' ? '' : bytes, rest].map((part) => Buffer.from(part)),
          );
        }
        const { error } = await outcomeOf(changed);
        expect(error === undefined || error instanceof DataError, String(error)).toBe(true);
      },
    ),
    { numRuns: 1_000 },
  );
});
