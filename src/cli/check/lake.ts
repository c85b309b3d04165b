/** Checks the lake: listing, writing, replacing and removing, and features that the store lacks. Leaves nothing behind. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rmdir, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, DataError, FatalError } from '../../core/errors.ts';
import { type Clock, silentLog } from '../../core/model/index.ts';
import { readLakeFile, readLayout } from '../../lake/lake-file.ts';
import { createLakeLayout } from '../../lake/layout.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import { PROBE_PREFIX } from '../../store/key.ts';
import { openStore, parseLakeUrl } from '../../store/open-store.ts';
import { type ObjectStore, UNFIT } from '../../store/store.ts';
import type { CheckResult, Finding } from './result.ts';
import { failed, faultOf, inTime, resultsOf, skipped, warning } from './result.ts';

interface LakeUse {
  readonly settings: Partial<Settings>;
  readonly jobs: readonly string[];
}

type Probe = LakeUse & { store: ObjectStore; clock: Clock; lakeUrl: string; key: string };

const keysOf = ({ key }: Probe) => [key, `${key}-absent`, `${key}-parts`];
const BYTES = Buffer.from('written by vessel-export check; may be removed\n');
const OTHER_BYTES = Buffer.from('written by vessel-export check, by another writer\n');
const MIN_FREE_BYTES = 1 << 30;
const STAND_IN =
  'a read before and after each write replaces it, which leaves a moment in which two writers may collide';

/** The checks in order; those that need an object are skipped if none can be written. */
const CHECKS: Readonly<Record<string, (probe: Probe) => Promise<Finding>>> = {
  async list({ store }) {
    for await (const _ of store.list(PROBE_PREFIX)) break;
    return `${store.url} can be listed`;
  },

  async put({ store, lakeUrl, key }) {
    await store.put(key, BYTES);
    await expectBytes(store, key, BYTES);
    return (await roomAt(lakeUrl)) ?? 'an object can be written and read back';
  },

  async 'lake-file'({ store, clock, settings, jobs }) {
    const { LAKE_LAYOUT: wanted, QUERY_BASE_URL: url } = settings;
    const source = { url: url ?? '' };
    const layout = createLakeLayout({ store, clock, log: silentLog, wanted, source, isShared: false });
    await layout.check(url === undefined ? [] : jobs).catch((thrown: unknown) => {
      // The check 'conditional-put' reports that.
      if (codeOf(thrown) !== 'unfit-store') throw thrown;
    });
    const found = (await readLakeFile(store))?.file;
    if (found === undefined) return 'nothing says that there is a lake yet';
    const isAsked = url !== undefined && jobs.length > 0;
    return `the lake is ${found.layout}${isAsked ? ', and takes readings of this service' : ''}`;
  },

  async 'conditional-put'({ store, key, settings }) {
    const { conditionalPut } = await store.capabilities();
    if (!conditionalPut || (await store.putIfAbsent(key, OTHER_BYTES))) {
      const isTable = (settings.LAKE_LAYOUT ?? (await readLayout(store))) === 'delta';
      const isNeeded = isTable || settings.REDIS_URL !== undefined;
      const refused = 'tables (LAKE_LAYOUT=delta) and fleets (schedule, worker, backfill) are refused';
      return (isNeeded ? failed : warning)('unfit-store', `${UNFIT}; ${refused}`);
    }
    if (await store.putIfAbsent(`${key}-absent`, OTHER_BYTES))
      return 'an object is written only if it does not exist';
    const found = 'the store refuses to write an object that is not there (If-None-Match)';
    return failed('unsupported-store', found);
  },

  async 'conditional-replace'({ store, key }) {
    const { conditionalReplace } = await store.capabilities();
    if (!conditionalReplace)
      return warning('lacks-conditional-replace', `the store lacks it (If-Match on PUT): ${STAND_IN}`);
    const before = await store.head(key);
    const written = await store.putIf(key, OTHER_BYTES, before?.version ?? '');
    const late = await store.putIf(key, BYTES, before?.version ?? '');
    if (written !== undefined && late === undefined)
      return 'an object is replaced only in the version that was read';
    return failed(
      'unsupported-store',
      'the store replaces another version than the requested one (If-Match)',
    );
  },

  async multipart({ store, key }) {
    const upload = await store.begin(`${key}-parts`, randomUUID());
    try {
      const part = await store.append(upload, 1, BYTES);
      await store.publish(upload, [part]);
    } catch (thrown) {
      await store.abandon(upload).catch(() => {});
      throw thrown;
    }
    await expectBytes(store, upload.key, BYTES);
    return 'an object can be uploaded in parts';
  },

  async 'conditional-complete'({ store }) {
    const { conditionalComplete } = await store.capabilities();
    if (conditionalComplete) return 'an upload replaces only the version that was read';
    const found = `the store lacks it (If-Match on completing an upload): ${STAND_IN}`;
    return warning('lacks-conditional-complete', found);
  },

  async delete(probe) {
    const { store } = probe;
    await store.removeAll(keysOf(probe));
    for (const key of keysOf(probe)) {
      const found = `${store.url}/${key} was removed and is still there: the store must forget it at once`;
      if ((await store.head(key)) !== undefined) throw new FatalError('not-removed', found);
    }
    return 'objects can be removed';
  },
};

const OUT_OF_REACH: readonly (string | undefined)[] = [
  ...[
    'no-answer',
    's3-unavailable',
    'store-unavailable',
    'no-bucket',
    'bad-credentials',
    'bad-certificate',
    'clock-skew',
  ],
];

/** Check the store at a `LAKE_URL`, and the `_lake.json` there. `env`: AWS settings. No check takes longer than PATIENCE_MS. */
export async function* checkLake(
  lakeUrl: string,
  env: NodeJS.ProcessEnv,
  clock: Clock,
  signal: AbortSignal,
  use: LakeUse,
): AsyncGenerator<CheckResult> {
  const resultOf = resultsOf('lake');
  let store: ObjectStore;
  try {
    // A check wants to know now; an export is patient.
    store = await openStore(lakeUrl, env, silentLog, 1);
  } catch (thrown) {
    yield resultOf('list', faultOf(thrown));
    return;
  }
  const place = parseLakeUrl(lakeUrl);
  const madeFolder = place.kind === 'local' && !existsSync(place.rootDir) ? place.rootDir : undefined;
  const probe = { ...use, store, clock, lakeUrl, key: `${PROBE_PREFIX}${randomUUID()}` };
  let inTheWay: string | undefined;
  try {
    for (const [name, check] of Object.entries(CHECKS)) {
      signal.throwIfAborted();
      if (inTheWay !== undefined) {
        yield resultOf(name, skipped(`${inTheWay} has failed`));
        continue;
      }
      const found = await inTime(clock, `${store.url}: ${name}`, () => check(probe)).catch(faultOf);
      const result = resultOf(name, found);
      yield result;
      if (result.state === 'failed' && (name === 'put' || OUT_OF_REACH.includes(result.code)))
        inTheWay = name;
    }
  } finally {
    // Errors are ignored: most of the objects are removed already, or were never written.
    await inTime(clock, store.url, () => store.removeAll(keysOf(probe))).catch(() => {});
    await store.close();
    // A folder that the check has created is removed.
    if (madeFolder !== undefined) await rmdir(madeFolder).catch(() => {});
  }
}

async function expectBytes(store: ObjectStore, key: string, bytes: Buffer): Promise<void> {
  const found = await store.get(key);
  if (found !== undefined && Buffer.compare(found.bytes, bytes) === 0) return;
  const what = found === undefined ? 'nothing' : `${found.bytes.length} other bytes`;
  throw new DataError(
    'not-read-back',
    `wrote ${bytes.length} bytes to ${store.url}/${key} and found ${what} there: the store must show what was written at once`,
  );
}

/** Free bytes on the disk of a folder; undefined for other stores. */
async function roomAt(lakeUrl: string): Promise<Finding | undefined> {
  const place = parseLakeUrl(lakeUrl);
  if (place.kind !== 'local') return undefined;
  const { bavail, bsize } = await statfs(place.rootDir).catch(() => statfs(dirname(place.rootDir)));
  const left = `${((bavail * bsize) / 1e9).toFixed(1)} GB left`;
  if (bavail * bsize >= MIN_FREE_BYTES) return `a file can be written and read back; the disk has ${left}`;
  const advice = 'free space there, or set LAKE_URL to a larger disk';
  return warning('little-room', `a file can be written, and the disk has only ${left}: ${advice}`);
}
