/** Bodies as they pass through the layers of the client: bytes are pushed to who reads, without a promise for each chunk. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import type { Body, ReadBody, TakeChunk } from '../../core/model/query.ts';

/** A body that is read by `read`, or chunk by chunk. */
export function bodyOf(read: ReadBody): Body {
  return { read, [Symbol.asyncIterator]: () => chunksOf(read) };
}

/** A body that is read as `body` is, of which `look` sees every chunk first; what it throws ends the body. */
export function watchedBody(body: Body, look: (chunk: Uint8Array) => void): Body {
  return bodyOf((take) =>
    body.read((chunk) => {
      look(chunk);
      return take(chunk);
    }),
  );
}

/** Thrown into a body of which enough was seen. */
const ENOUGH = new Error('enough of this body');

async function* chunksOf(read: ReadBody): AsyncGenerator<Uint8Array> {
  let onChunk: (chunk: Uint8Array | undefined) => void = () => {};
  let next = Promise.withResolvers<void>();
  let coming = new Promise<Uint8Array | undefined>((resolve) => {
    onChunk = resolve;
  });
  const ended = read((chunk) => {
    onChunk(chunk);
    return next.promise;
  });
  ended.then(
    () => onChunk(undefined),
    () => onChunk(undefined),
  );
  try {
    for (let chunk = await coming; chunk !== undefined; chunk = await coming) {
      yield chunk;
      coming = new Promise((resolve) => {
        onChunk = resolve;
      });
      const { resolve } = next;
      next = Promise.withResolvers();
      resolve();
    }
    await ended;
  } finally {
    next.reject(ENOUGH);
    next.promise.catch(() => {});
    // Only when the body is closed may others have its slot.
    await ended.catch(() => {});
  }
}

/**
 * Push what a stream yields to `take`, in the caller's asynchronous context. Resolves at its end; rejects with what
 * `take` throws, or with what `reasonOf` makes of the stream's error, once `take` has settled. The stream is
 * destroyed then, unless it has ended.
 */
export async function readStream(
  stream: Readable,
  take: TakeChunk,
  reasonOf: (error: unknown) => unknown,
): Promise<void> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  let taking: Promise<void> | undefined;
  let isOver = false;
  const end = (settle: () => void) => {
    isOver = true;
    // What `take` itself fails with comes first.
    if (taking === undefined) settle();
    else taking.then(settle, reject);
  };
  const fail = (error: unknown) => end(() => reject(reasonOf(error)));
  const broken = () => fail(stream.errored ?? new Error('the stream was closed'));
  const inContext = AsyncLocalStorage.snapshot();
  const onData = (chunk: Uint8Array) => {
    if (isOver) return;
    try {
      const taken = inContext(take, chunk);
      if (taken === undefined) return;
      stream.pause();
      taking = taken.then(() => {
        taking = undefined;
        if (!isOver) stream.resume();
      });
      taking.catch(reject);
    } catch (error) {
      isOver = true;
      reject(error);
    }
  };
  const onEnd = () => end(resolve);
  const onClose = () => {
    if (!isOver) broken();
  };
  try {
    if (stream.readableEnded) return;
    if (stream.destroyed) broken();
    else stream.on('data', onData).once('end', onEnd).once('error', fail).once('close', onClose);
    await over;
  } finally {
    isOver = true;
    stream.off('data', onData).off('end', onEnd).off('close', onClose);
    if (!stream.readableEnded) stream.on('error', () => {}).destroy();
  }
}
