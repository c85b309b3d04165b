import { Worker } from 'node:worker_threads';
import { CancelledError, FatalError, messageOf, RetriableError } from '../errors.ts';
import type { Arena } from './arrow-stream.ts';
import { type EncodeAnswer, type EncodeJob, gatheredBuffers } from './encode-job.ts';

/** Sorts and encodes row groups, one after the other, for any number of builders. */
export interface Encoder {
  /** Rows will come: let a thread load meanwhile what encodes them, which takes a third of a second. Optional. */
  prepare(): void;
  /**
   * Takes the job's gathered rows over; the answer gives them back. Throws FatalError `encode-failed`,
   * RetriableError `encode-worker-died`, CancelledError after `close`.
   */
  encode<Job extends EncodeJob>(job: Job): Promise<EncodeAnswer<Job>>;
  /** Ends the worker; jobs that still wait are rejected. May be called twice. */
  close(): Promise<void>;
}

/** What a worker answers to the job of the same number. */
export type WorkerReply =
  | { readonly job: number; readonly answer: EncodeAnswer }
  | { readonly job: number; readonly failure: { readonly code: string; readonly message: string } };

/** `threads: 0` encodes in the calling thread, which it blocks; 1 in one worker thread. Both give the same bytes. */
export function createEncoder({ threads }: { threads: 0 | 1 }): Encoder {
  return threads === 0 ? createInlineEncoder() : createWorkerEncoder();
}

const closedError = () => new CancelledError('the encoder was closed before this row group was encoded');

function createInlineEncoder(): Encoder {
  let arena: Arena | undefined;
  let isClosed = false;
  return {
    prepare() {},
    async encode<Job extends EncodeJob>(job: Job) {
      const { createArena, encodeRowGroup } = await import('./encode-row-group.ts');
      if (isClosed) throw closedError();
      arena ??= createArena();
      return encodeRowGroup(job, arena) as EncodeAnswer<Job>;
    },
    async close() {
      isClosed = true;
      arena = undefined;
    },
  };
}

interface Waiting {
  readonly resolve: (answer: EncodeAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** A worker that started lazily, and the jobs it has not answered yet. */
interface LiveWorker {
  readonly thread: Worker;
  readonly waiting: Map<number, Waiting>;
}

/** The worker's file has the extension of this one: TypeScript as it stands, or what a build made of it. */
const workerUrl = () =>
  new URL(`./encode-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

function startWorker(onDeath: (worker: LiveWorker) => void): LiveWorker {
  // Without the process's own flags: some (--input-type, --test) make no sense for a file that a thread runs.
  const thread = new Worker(workerUrl(), { name: 'encode', execArgv: [] });
  const worker: LiveWorker = { thread, waiting: new Map() };
  const die = (found: string) => {
    onDeath(worker);
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
  thread.on('messageerror', (error) => die(messageOf(error)));
  thread.on('error', (error) => die(messageOf(error)));
  thread.on('exit', (code) => die(`exit code ${code}`));
  thread.unref();
  return worker;
}

function createWorkerEncoder(): Encoder {
  let live: LiveWorker | undefined;
  let isClosed = false;
  let jobs = 0;
  const onDeath = (worker: LiveWorker) => {
    if (live === worker) live = undefined;
  };
  return {
    prepare() {
      if (!isClosed) live ??= startWorker(onDeath);
    },
    encode<Job extends EncodeJob>(job: Job) {
      if (isClosed) return Promise.reject(closedError());
      live ??= startWorker(onDeath);
      const { thread, waiting } = live;
      return new Promise<EncodeAnswer<Job>>((resolve, reject) => {
        const number = jobs++;
        waiting.set(number, { resolve: resolve as Waiting['resolve'], reject });
        // Only a job that waits keeps the process alive, an idle worker does not.
        thread.ref();
        thread.postMessage({ job: number, request: job }, gatheredBuffers(job));
      });
    },
    async close() {
      isClosed = true;
      const worker = live;
      live = undefined;
      if (worker === undefined) return;
      for (const { reject } of worker.waiting.values()) reject(closedError());
      worker.waiting.clear();
      await worker.thread.terminate();
    },
  };
}
