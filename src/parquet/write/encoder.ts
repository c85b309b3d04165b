import { Worker } from 'node:worker_threads';
import { CancelledError, FatalError, messageOf, RetriableError } from '../../core/errors.ts';
import { jsonTextBytes } from '../../core/model/index.ts';
import { type EncodeAnswer, type EncodeJob, gatheredBuffers, takeBack } from './encode-job.ts';
import type { Arena } from './encode-row-group.ts';

export interface Encoder {
  /** Rows will come, so many if that is known: let a thread load what encodes them meanwhile, which takes a third of a second. */
  prepare(rows: number | undefined): void;
  /** Takes the rows over, and gives them back. Throws FatalError `encode-failed`, RetriableError `encode-worker-died`, CancelledError once closed. */
  encode<Job extends EncodeJob>(job: Job): Promise<EncodeAnswer<Job>>;
  /** Ends the workers; jobs that still wait are rejected. May be called twice. */
  close(): Promise<void>;
}

export type WorkerReply =
  | { readonly job: number; readonly answer: EncodeAnswer }
  | { readonly job: number; readonly failure: { readonly code: string; readonly message: string } };

interface EncoderOptions {
  readonly threads: number;
  /** Row groups of fewer rows are encoded in the calling thread; absent: none. */
  readonly smallRows?: number;
}

/** `threads: 0` encodes in the calling thread; more are worker threads, started when those before are busy. The bytes are the same. */
export function createEncoder({ threads, smallRows = 0 }: EncoderOptions): Encoder {
  const inline = createInlineEncoder();
  if (threads === 0) return inline;
  const worker = createWorkerEncoder(threads);
  const isSmall = (job: EncodeJob) => job.gathered.rows < smallRows && textBytes(job) < SMALL_TEXT_BYTES;
  return {
    prepare(rows) {
      if (rows === undefined || rows >= smallRows) worker.prepare(rows);
    },
    encode: (job) => (isSmall(job) ? inline : worker).encode(job),
    async close() {
      await Promise.all([inline.close(), worker.close()]);
    },
  };
}

/** Fewer rows are encoded in the time that sending them to a thread and back takes; and a thread takes 100 MB. */
export const SMALL_ROW_GROUP_ROWS = 16_384;
/** Text of few rows may be much all the same. */
const SMALL_TEXT_BYTES = 1024 * 1024;

function textBytes({ kind, gathered }: EncodeJob): number {
  if (kind === 'measurements') return jsonTextBytes(gathered.jsonText);
  return gathered.columns.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** Threads that keep up with what one thread receives and decodes; each takes some 100 MB. */
export function encoderThreadsFor(cores: number): number {
  return cores > 2 ? 2 : 1;
}

const closedError = () => new CancelledError('the encoder was closed before this row group was encoded');

function createInlineEncoder(): Encoder {
  let arena: Arena | undefined;
  let isClosed = false;
  // Loaded when it is needed, and kept: to find it again takes as long as to encode a column.
  let loading: Promise<typeof import('./encode-row-group.ts')> | undefined;
  return {
    prepare() {},
    async encode<Job extends EncodeJob>(job: Job) {
      loading ??= import('./encode-row-group.ts');
      const { createArena, encodeRowGroup } = await loading;
      if (isClosed) throw closedError();
      const lent = arena ?? createArena();
      // One that fails half way, such as when memory runs out, may not fit together any more: nobody has it again.
      arena = undefined;
      const answer = encodeRowGroup(job, lent) as EncodeAnswer<Job>;
      arena = lent;
      return answer;
    },
    async close() {
      isClosed = true;
      arena = undefined;
    },
  };
}

/** A worker that started lazily, and the jobs it has not answered yet. */
interface LiveWorker {
  readonly thread: Worker;
  readonly waiting: Map<number, Pick<PromiseWithResolvers<EncodeAnswer>, 'resolve' | 'reject'>>;
}

/** The worker's file has the extension of this one: TypeScript as it stands, or what a build made of it. */
const workerUrl = () =>
  new URL(`./encode-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

/** A row group leaves little garbage: a young generation as large as the main thread's takes 15 MB for nothing. */
const MEMORY = { maxYoungGenerationSizeMb: 3 };

function startWorker(onDeath: () => void): LiveWorker {
  // Without the process's own flags: some (--input-type, --test) make no sense for a file that a thread runs.
  const thread = new Worker(workerUrl(), { name: 'encode', execArgv: [], resourceLimits: MEMORY });
  const worker: LiveWorker = { thread, waiting: new Map() };
  const die = (found: string) => {
    onDeath();
    const error = new RetriableError(
      'encode-worker-died',
      `The encoding worker thread died (${found}) with ${worker.waiting.size} row group(s) unfinished; the vessel-day can be tried again, with less memory in use`,
    );
    for (const { reject } of worker.waiting.values()) reject(error);
    worker.waiting.clear();
  };
  thread.on('message', (reply: WorkerReply) => {
    const waiting = worker.waiting.get(reply.job);
    worker.waiting.delete(reply.job);
    if (worker.waiting.size === 0) thread.unref();
    if ('answer' in reply) waiting?.resolve(reply.answer);
    else waiting?.reject(new FatalError(reply.failure.code, reply.failure.message));
  });
  thread.on('messageerror', (error) => {
    die(messageOf(error));
    // It lives, and would keep the process alive.
    void thread.terminate();
  });
  thread.on('error', (error) => die(messageOf(error)));
  thread.on('exit', (code) => die(`exit code ${code}`));
  thread.unref();
  return worker;
}

/** The one with the least to do, or a new one where all have something to do and there may be more. */
function pickWorker(live: readonly LiveWorker[], threads: number): LiveWorker | undefined {
  const [idlest] = live.toSorted((a, b) => a.waiting.size - b.waiting.size);
  const mayStart = live.length < threads && (idlest === undefined || idlest.waiting.size > 0);
  return mayStart ? undefined : idlest;
}

function createWorkerEncoder(threads: number): Encoder {
  const live: LiveWorker[] = [];
  let isClosed = false;
  let jobs = 0;
  function start(): LiveWorker {
    const worker = startWorker(() => {
      const at = live.indexOf(worker);
      if (at !== -1) live.splice(at, 1);
    });
    live.push(worker);
    return worker;
  }
  return {
    prepare() {
      if (!isClosed && live.length === 0) start();
    },
    encode<Job extends EncodeJob>(job: Job) {
      if (isClosed) return Promise.reject(closedError());
      const { thread, waiting } = pickWorker(live, threads) ?? start();
      return new Promise<EncodeAnswer<Job>>((resolve, reject) => {
        const number = jobs++;
        try {
          thread.postMessage({ job: number, request: job }, gatheredBuffers(job));
        } catch (cause) {
          const found = `A row group of ${job.gathered.rows} rows could not be sent to a thread: ${messageOf(cause)}`;
          reject(new FatalError('encode-failed', `${found}; nothing was uploaded from it`, { cause }));
          return;
        }
        const take = ({ gathered, ...answer }: EncodeAnswer) => {
          takeBack(job, gathered);
          resolve({ ...answer, gathered: job.gathered } as EncodeAnswer<Job>);
        };
        waiting.set(number, { resolve: take as (answer: unknown) => void, reject });
        // Only a job that waits keeps the process alive, an idle worker does not.
        thread.ref();
      });
    },
    async close() {
      isClosed = true;
      const workers = live.splice(0);
      for (const { waiting } of workers) {
        for (const { reject } of waiting.values()) reject(closedError());
        waiting.clear();
      }
      await Promise.all(workers.map(({ thread }) => thread.terminate()));
    },
  };
}
