import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder of its own; `await using` or `remove()` deletes it with all that is in it. */
export interface TempFolder extends AsyncDisposable {
  readonly path: string;
  remove(): Promise<void>;
}

export async function newTempFolder(): Promise<TempFolder> {
  const path = await mkdtemp(join(tmpdir(), 'vessel-export-'));
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3 });
  return { path, remove, [Symbol.asyncDispose]: remove };
}
