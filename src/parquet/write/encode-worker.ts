/** The worker thread of `createEncoder({ threads: 1 })`: the one module that acts when it is loaded. */
import { parentPort } from 'node:worker_threads';
import { FatalError } from '../../core/errors.ts';
import { type EncodeJob, gatheredBuffers } from './encode-job.ts';
import { createArena, encodeRowGroup } from './encode-row-group.ts';
import type { WorkerReply } from './encoder.ts';

const arena = createArena();

const isOutOfMemory = (cause: unknown): boolean =>
  cause instanceof RangeError && /allocation failed|Invalid (typed )?array length/i.test(cause.message);

parentPort?.on('message', ({ job, request }: { job: number; request: EncodeJob }) => {
  try {
    const answer = encodeRowGroup(request, arena);
    const reply: WorkerReply = { job, answer };
    parentPort?.postMessage(reply, [answer.file.buffer, ...gatheredBuffers(request)]);
  } catch (error) {
    // Die, which gives the memory back: the next job gets a new thread.
    if (!(error instanceof FatalError) || isOutOfMemory(error.cause)) throw error;
    const reply: WorkerReply = { job, failure: { code: error.code, message: error.message } };
    parentPort?.postMessage(reply);
  }
});
