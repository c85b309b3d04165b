/** Objects of a lake elsewhere as files in a temporary folder, of bounded size: what is needed next stays, older goes. */
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachAtOnce } from '../../core/concurrency.ts';
import { ConfigError, FatalError, messageOf, RetriableError } from '../../core/errors.ts';
import type { VesselDay } from '../../core/model/index.ts';
import { writeAll } from '../../store/local/files.ts';
import type { ObjectStore } from '../../store/store.ts';

export interface LakeObject {
  readonly day: VesselDay;
  readonly key: string;
  readonly sizeBytes: number;
  /** Another one: the object was replaced. */
  readonly tag: string;
}

const AT_ONCE = 8;
const RANGE_BYTES = 8 << 20;
const TRIES = 3;

/** In `dir`, a folder of its own. */
export function createFetchedObjects(
  store: Pick<ObjectStore, 'getRange' | 'head'>,
  dir: string,
  maxBytes: number,
) {
  /** By key and tag. */
  const files = new Map<string, { readonly path: string; readonly sizeBytes: number }>();
  const nameOf = ({ key, tag }: LakeObject) => `${key}\n${tag}`;
  let made = 0;

  async function makeRoom(wanted: ReadonlySet<string>, needBytes: number): Promise<void> {
    let used = [...files.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    for (const [name, { path, sizeBytes }] of files) {
      if (used + needBytes <= maxBytes) return;
      if (wanted.has(name)) continue;
      await rm(path, { force: true });
      files.delete(name);
      used -= sizeBytes;
    }
  }

  /** Files with the objects, in their order. Throws ConfigError `too-much` before anything is fetched. */
  return async (objects: readonly LakeObject[], signal: AbortSignal): Promise<string[]> => {
    const total = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (total > maxBytes) throw tooMuch(objects.length, total, maxBytes);
    const missing = objects.filter((object) => !files.has(nameOf(object)));
    const missingBytes = missing.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    await makeRoom(new Set(objects.map(nameOf)), missingBytes);
    await forEachAtOnce(missing, AT_ONCE, async (object) => {
      const { job, vessel, date } = object.day;
      const folder = join(dir, job, `vessel=${vessel}`, `date=${date}`);
      await mkdir(folder, { recursive: true });
      const path = join(folder, `${made++}.parquet`);
      await fetchWhole(store, object, path, signal);
      files.set(nameOf(object), { path, sizeBytes: object.sizeBytes });
    });
    return objects.map((object) => files.get(nameOf(object))!.path);
  };
}

function tooMuch(objects: number, bytes: number, maxBytes: number): ConfigError {
  const gigabytes = (size: number) => `${(size / 1e9).toPrecision(3)} GB`;
  return new ConfigError(
    'too-much',
    `the query needs ${objects} objects of ${gigabytes(bytes)}, and at most ${gigabytes(maxBytes)} are fetched; select fewer vessels and days: WHERE vessel = 'IMO9321483' AND date >= '2026-01-01' (as literals: a value that is computed during the query, such as date = (SELECT max(date) FROM readings), excludes no object; query it first), or allow more: --fetch-gb ${Math.ceil(bytes / 1e9)}`,
  );
}

/** An object may be replaced meanwhile: the file then is neither of the two, and fetched again. */
async function fetchWhole(
  store: Pick<ObjectStore, 'getRange' | 'head'>,
  { key, sizeBytes }: LakeObject,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const version = (await store.head(key))?.version;
    if (version === undefined) break;
    const written = await copyRanges(store, key, path, signal);
    const after = await store.head(key);
    if (after?.version === version && after.sizeBytes === written) return;
  }
  throw new RetriableError(
    'object-changed',
    `${key} (${sizeBytes} bytes when it was listed) was removed or replaced while it was read; repeat the query`,
  );
}

async function copyRanges(
  store: Pick<ObjectStore, 'getRange'>,
  key: string,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  await using file = await open(path, 'w');
  try {
    for (let at = 0; ; ) {
      signal.throwIfAborted();
      const bytes = await store.getRange(key, at, at + RANGE_BYTES);
      if (bytes === undefined || bytes.length === 0) return at;
      await writeAll(file, bytes, at);
      at += bytes.length;
      if (bytes.length < RANGE_BYTES) return at;
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOSPC') throw error;
    throw new FatalError(
      'disk-full',
      `cannot write ${path}: ${messageOf(error)}; point TEMP_DIR to a disk with more room`,
      { cause: error },
    );
  }
}
