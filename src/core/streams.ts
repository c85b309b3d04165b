/** What Node's streams leave to be said by hand. */
import type { Writable } from 'node:stream';

/** Resolves when a stream takes more again, or is closed. For after a `write` that returned false. */
export function untilWritable(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
