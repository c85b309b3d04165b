import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CancelledError, FatalError, RetriableError } from '../../../src/core/errors.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import type { MeasurementJob } from '../../../src/parquet/write/encode-job.ts';
import { createEncoder, createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import { rankSeries } from '../../../src/parquet/write/series-ranks.ts';
import type { Reading } from './lake-file.ts';
import { batchOf, DAY_MICROS, runsOf } from './lake-file.ts';

const READINGS: readonly Reading[] = [
  { micros: DAY_MICROS, series: 'a', value: 1n },
  { micros: DAY_MICROS, series: 'b', value: '"text"' },
];

function job(): MeasurementJob {
  const dictionary = createSeriesDictionary(['a', 'b']);
  const { ranks } = rankSeries(dictionary.ids.map((id) => ({ id, name: id })));
  const gathered = batchOf(READINGS, dictionary);
  // The heap without the entry that no row uses, as a builder keeps it.
  gathered.jsonText.bytes = new Uint8Array(Buffer.from('"text"'));
  gathered.jsonText.ends = Int32Array.of(6);
  gathered.jsonText.count = 1;
  gathered.words[2] = 0;
  return { kind: 'measurements', gathered, ranks };
}

/** Rows for which there is no memory. */
function tooLargeJob(): MeasurementJob {
  const large = job();
  large.gathered.rows = 2 ** 50;
  return large;
}

/** A job that fails with memory enough: the row's index is beyond the dictionary. */
function failingJob(): MeasurementJob {
  const { gathered, ranks } = job();
  return {
    kind: 'measurements',
    gathered,
    ranks: { ...ranks, ids: { bytes: new Uint8Array(0), ends: new Int32Array(0) } },
  };
}

describe('a worker thread', () => {
  it('gives the rows back with the same memory sizes, and the same file as this thread', async () => {
    const inline = createEncoder({ threads: 0 });
    const threaded = createEncoder({ threads: 1 });
    const expected = await inline.encode(job());
    const request = job();
    const sent = request.gathered.timestampMicros;
    const answer = await threaded.encode(request);
    expect(sent.length).toBe(0);
    // In the objects that were sent, whose shape is that of this thread.
    expect(answer.gathered).toBe(request.gathered);
    expect(answer.gathered.timestampMicros.length).toBe(READINGS.length + 1);
    expect(answer.gathered.longs.buffer).toBe(answer.gathered.words.buffer);
    expect(Buffer.from(answer.file).equals(expected.file)).toBe(true);
    await threaded.close();
  });

  it('is sent no row group that is small in rows and text', async () => {
    const encoder = createEncoder({ threads: 1, smallRows: READINGS.length + 1 });
    const inline = createEncoder({ threads: 0 });
    const isSent = async (request: MeasurementJob) => {
      const sent = request.gathered.timestampMicros;
      const answer = await encoder.encode(request);
      expect(Buffer.from(answer.file).equals((await inline.encode(job())).file)).toBe(true);
      return sent.length === 0;
    };
    expect(await isSent(job())).toBe(false);
    const long = job();
    const { jsonText } = long.gathered;
    jsonText.bytes = Buffer.from(`"${'x'.repeat(2 ** 20)}"`);
    jsonText.ends = Int32Array.of(jsonText.bytes.length);
    const sent = long.gathered.timestampMicros;
    const answer = await encoder.encode(long);
    expect(sent.length).toBe(0);
    expect(answer.file.length).toBeGreaterThan(0);
    await encoder.close();
    const forLarge = createEncoder({ threads: 1, smallRows: READINGS.length });
    expect(job().gathered.rows).toBe(READINGS.length);
    const request = job();
    const { timestampMicros } = request.gathered;
    await forLarge.encode(request);
    expect(timestampMicros.length).toBe(0);
    await forLarge.close();
    await expect(forLarge.encode(job())).rejects.toThrow(CancelledError);
  });

  it('answers many jobs at once, each with its own', async () => {
    const encoder = createEncoder({ threads: 1 });
    const dictionary = createSeriesDictionary();
    const builder = createMeasurementRowGroups({ rowGroupRows: 1, dictionary, idOf: (id) => id, encoder });
    const readings = Array.from({ length: 20 }, (_, i) => ({
      micros: DAY_MICROS + i,
      series: `s${i}`,
      value: BigInt(i),
    }));
    builder.append(batchOf(readings, dictionary), 0, 20);
    const groups = await Promise.all(readings.map(() => builder.seal(1)));
    expect(groups.map((group) => runsOf(group)[0]!.timeSeriesId)).toEqual(
      readings.map((reading) => reading.series),
    );
    await encoder.close();
  });

  it('rejects what it was asked when it dies, and a new one takes the next job', async () => {
    const encoder = createEncoder({ threads: 1 });
    const outcomes = await Promise.allSettled([encoder.encode(tooLargeJob()), encoder.encode(job())]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'encode-worker-died' } });
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(RetriableError);
    }
    expect((await encoder.encode(job())).file.length).toBeGreaterThan(0);
    await encoder.close();
  });

  it('that dies takes only its own jobs with it', async () => {
    const encoder = createEncoder({ threads: 2 });
    const [trapped, other] = await Promise.allSettled([encoder.encode(tooLargeJob()), encoder.encode(job())]);
    expect(trapped).toMatchObject({ status: 'rejected', reason: { code: 'encode-worker-died' } });
    expect(other.status).toBe('fulfilled');
    await encoder.close();
  });

  it('whose answer cannot be read is ended, and does not go on unseen', async () => {
    const encoder = createEncoder({ threads: 1 });
    const post = vi.spyOn(Worker.prototype, 'postMessage');
    const trapped = expect(encoder.encode(job())).rejects.toMatchObject({ code: 'encode-worker-died' });
    const thread = post.mock.contexts[0] as unknown as Worker;
    post.mockRestore();
    const ended = once(thread, 'exit');
    thread.emit('messageerror', new Error('there is no memory for it'));
    await trapped;
    await ended;
    expect((await encoder.encode(job())).file.length).toBeGreaterThan(0);
    await encoder.close();
  });

  it('rejects jobs that wait when it is closed, and later ones', async () => {
    const encoder = createEncoder({ threads: 1 });
    const waiting = expect(encoder.encode(job())).rejects.toThrow(CancelledError);
    await encoder.close();
    await waiting;
    await expect(encoder.encode(job())).rejects.toThrow(CancelledError);
    await encoder.close();
  });

  it('does not keep the process alive when it is idle, but does while it works', async () => {
    const output = await runAlone(`
      const dictionary = createSeriesDictionary(['a']);
      const encoder = createEncoder({ threads: 1 });
      const builder = createMeasurementRowGroups({ rowGroupRows: 1, dictionary, idOf: (id) => id, encoder });
      const batch = createColumnBatch(1);
      batch.rows = 1;
      builder.append(batch, 0, 1);
      builder.seal(1).then((group) => console.log('rows', group.rows));`);
    expect(output).toEqual([0, 'rows 1\n']);
  });

  it('is not kept busy by a job that cannot be sent to it', async () => {
    const output = await runAlone(`
      const fileMemory = new ArrayBuffer(8);
      fileMemory.transfer();
      const ranks = { rankOfCode: new Int32Array(0) };
      createEncoder({ threads: 1 })
        .encode({ kind: 'measurements', gathered: createColumnBatch(1), ranks, fileMemory })
        .catch((error) => console.log(error.code, error.message));`);
    expect(output).toEqual([
      0,
      expect.stringMatching(
        /^encode-failed A row group of 0 rows could not be sent to a thread: .+; nothing/,
      ),
    ]);
  });
});

/** What a process ends with and prints that has nothing else to do. */
async function runAlone(script: string): Promise<[code: number | null, output: string]> {
  const imports = `
    const { createEncoder, createMeasurementRowGroups } = await import(process.argv[1]);
    const { createColumnBatch, createSeriesDictionary } = await import(process.argv[2]);`;
  const modules = ['parquet/write', 'core/model'].map(
    (name) => new URL(`../../../src/${name}/index.ts`, import.meta.url).href,
  );
  const child = spawn(process.execPath, ['--input-type=module', '--eval', imports + script, ...modules], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // One that does not end by itself.
    timeout: 30_000,
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  return [code, output];
}

describe.each([0, 1, 2])('an encoder with %i threads', (threads) => {
  it('fails a job that cannot be encoded and goes on with the next', async () => {
    const encoder = createEncoder({ threads });
    const failure = encoder.encode(failingJob());
    await expect(failure).rejects.toBeInstanceOf(FatalError);
    await expect(failure).rejects.toMatchObject({ code: 'encode-failed' });
    expect((await encoder.encode(job())).file.length).toBeGreaterThan(0);
    await encoder.close();
  });
});

it('an encoder in this thread refuses jobs after it is closed', async () => {
  const encoder = createEncoder({ threads: 0 });
  await encoder.close();
  await expect(encoder.encode(job())).rejects.toThrow(CancelledError);
});

describe('want of memory in this thread', () => {
  afterEach(() => void vi.unstubAllGlobals());

  /** The `nth` array of this kind that is made from now on cannot be had. */
  function refuse(kind: 'Float64Array' | 'Int32Array' | 'Uint16Array' | 'Uint8Array', nth: number): void {
    let left = nth;
    const refusing = new Proxy(globalThis[kind], {
      construct(array, args, target) {
        if (--left === 0) throw new RangeError('Array buffer allocation failed');
        return Reflect.construct(array, args, target) as object;
      },
    });
    vi.stubGlobal(kind, refusing);
  }

  it('leaves nothing that the next row group could be damaged by', async () => {
    const { file: expected } = await createEncoder({ threads: 0 }).encode(job());
    let failed = 0;
    for (const kind of ['Float64Array', 'Int32Array', 'Uint16Array', 'Uint8Array'] as const)
      for (let nth = 1; nth <= 12; nth++) {
        const encoder = createEncoder({ threads: 0 });
        const request = job();
        refuse(kind, nth);
        await encoder.encode(request).catch(() => failed++);
        vi.unstubAllGlobals();
        const { file } = await encoder.encode(job());
        expect([kind, nth, Buffer.compare(file, expected)]).toEqual([kind, nth, 0]);
      }
    expect(failed).toBeGreaterThan(12);
  });
});
