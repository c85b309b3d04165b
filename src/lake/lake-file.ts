/**
 * `_lake.json`: what a lake says of itself, and what a lake is that has no such file. It says the service that each job is
 * copied from, so that readings of two services never meet in one job, nor made-up ones with those of a service.
 */
import { ConfigError, FencedError, messageOf } from '../core/errors.ts';
import type { Layout } from '../core/model/index.ts';
import { readWebAddress } from '../core/model/web-address.ts';
import type { ObjectStore, Version } from '../store/store.ts';
import { readClaim } from './claims/claims.ts';
import { jsonBytes, parseJson, unlessDamaged } from './json.ts';
import { keyPrefix, LAKE_KEY, logKeyPrefix, parseClaimKey, parseReceiptKey } from './keys.ts';
import { readReceipt } from './ledger/ledger.ts';
import { checkedFile, isObject, LAKE_FILE, shown } from './shapes.ts';

export interface LakeFile {
  readonly lakeVersion: 1;
  readonly layout: Layout;
  /** While `convert` is at work: who, so that of two one knows that it is over. Nobody exports meanwhile. */
  readonly converting?: { readonly to: 'delta'; readonly by: string };
  /** By job: the base URL, with its tenant, of the service that it is copied from. */
  readonly sources?: Readonly<Record<string, string>>;
  /** Readings that `demo` has made up: nothing of a service's belongs among them. */
  readonly madeUp?: boolean;
}

const PUT_SOURCES =
  'add "sources":{"JOB":"URL"} with each job and the sourceUrl of its receipts, otherwise the next service that exports counts as its source';

/** The lake's own file; undefined where there is none. Throws ConfigError `damaged-lake-file` or `unknown-lake-version`. */
export async function readLakeFile(
  store: Pick<ObjectStore, 'get'>,
): Promise<{ readonly file: LakeFile; readonly version: Version } | undefined> {
  const object = await store.get(LAKE_KEY);
  if (object === undefined) return undefined;
  const value = undamaged(() => parseJson(object.bytes, LAKE_KEY));
  if (isObject(value) && value.lakeVersion !== 1)
    throw new ConfigError(
      'unknown-lake-version',
      `${LAKE_KEY}: got lakeVersion ${shown(value.lakeVersion)}, expected 1; a newer vessel-export wrote it: use that one`,
    );
  // Members may be missing in other files, not in this one.
  const whole = isObject(value) ? { lakeVersion: 1, layout: null, ...value } : value;
  const file = undamaged(() => checkedFile<LakeFile>(whole, LAKE_KEY, LAKE_FILE));
  return { file, version: object.version };
}

/** It must not be removed, as other files of ours may: a lake without it is taken for a plain one. */
function undamaged<T>(reading: () => T): T {
  try {
    return reading();
  } catch (cause) {
    throw new ConfigError(
      'damaged-lake-file',
      `${LAKE_KEY}: it is not as vessel-export wrote it; put back {"lakeVersion":1,"layout":"delta"} where the folders of the jobs have a _delta_log, else {"lakeVersion":1,"layout":"plain"}; ${PUT_SOURCES} (${messageOf(cause)})`,
      { cause },
    );
  }
}

export async function readLayout(store: Pick<ObjectStore, 'get'>): Promise<Layout> {
  return (await readLakeFile(store))?.file.layout ?? 'plain';
}

/**
 * Has anybody exported into it, or begun to, before there was `_lake.json`? Only what parses as a receipt or a claim
 * tells: anybody may have left a file there. Throws ConfigError `damaged-lake-file` where there is a table: then the
 * file was there, and is gone.
 */
export async function hasContent(store: ObjectStore): Promise<boolean> {
  const content = await findContent(store);
  // Whoever was first meanwhile had put the file before his claim.
  if (content === undefined || (await readLakeFile(store)) !== undefined) return false;
  if (content === 'table') throw isGone();
  return true;
}

async function findContent(store: ObjectStore): Promise<'table' | 'files' | undefined> {
  const jobs = new Set<string>();
  for (const kind of ['receipt', 'claim'] as const)
    for await (const listed of store.list(keyPrefix(kind))) {
      const claim = kind === 'claim' ? parseClaimKey(listed.key) : undefined;
      const day = claim?.day ?? parseReceiptKey(listed.key);
      if (day === undefined) continue;
      if (!jobs.has(day.job)) for await (const _ of store.list(logKeyPrefix(day.job))) return 'table';
      jobs.add(day.job);
      const found = claim
        ? (await readClaim(store, { ...listed, ...claim }))?.file
        : await unlessDamaged(readReceipt(store, day));
      if (found !== undefined) return 'files';
    }
  return undefined;
}

function isGone(): ConfigError {
  return new ConfigError(
    'damaged-lake-file',
    `${LAKE_KEY}: it is missing, and the jobs have tables; put back {"lakeVersion":1,"layout":"delta"}; ${PUT_SOURCES}`,
  );
}

export function isConverting(): FencedError {
  return new FencedError(
    'lake-converting',
    `${LAKE_KEY}: the lake is being converted; nothing is exported into it meanwhile. Wait, or, if the conversion was killed, continue it with 'vessel-export convert --to delta'`,
  );
}

export interface LakeSource {
  /** Base URL with its tenant, without secrets; of made-up readings any text. */
  readonly url: string;
  readonly isMadeUp?: boolean;
}

/** Host, port and path: whether the way there is encrypted says nothing of what is there. */
function identityOf(address: string): string {
  const url = readWebAddress(address);
  return url === undefined ? address : `${url.host}${url.pathname.replace(/\/+$/, '')}`;
}

/** The file with the source of a job; itself where it names one. */
export function withSource(file: LakeFile, source: LakeSource, job: string): LakeFile {
  if (sourceOf(file, job) !== undefined) return file;
  return { ...file, sources: { ...file.sources, [job]: source.url } };
}

function sourceOf({ sources = {} }: LakeFile, job: string): string | undefined {
  return Object.hasOwn(sources, job) ? sources[job] : undefined;
}

/** Throws ConfigError `other-source` where a job of the lake at `lakeUrl` is copied from elsewhere. */
export function expectSource(lakeUrl: string, file: LakeFile, source: LakeSource, job: string): void {
  const known = sourceOf(file, job);
  const { isMadeUp = false } = source;
  if (known === undefined && isMadeUp === (file.madeUp ?? false)) return;
  if (known !== undefined && identityOf(known) === identityOf(source.url)) return;
  if (isMadeUp)
    throw new ConfigError(
      'other-source',
      `the lake at ${lakeUrl} has job '${job}' from ${known ?? 'a service'}: name another folder for made-up readings (--lake)`,
    );
  const what =
    known === undefined || file.madeUp === true
      ? 'holds readings that vessel-export demo has made up'
      : `has job '${job}' from ${known}`;
  throw new ConfigError(
    'other-source',
    `the lake at ${lakeUrl} ${what}, and QUERY_BASE_URL is ${source.url}: correct it, or set LAKE_URL to another lake. If the change is intended, for example because the service has moved, accept it once: 'vessel-export accept ${job} --source'`,
  );
}

/** The lake's file, if there is one. Throws what `expectSource` throws of these jobs, where a source is known here. */
export async function checkSources(
  store: Pick<ObjectStore, 'url' | 'get'>,
  source: LakeSource | undefined,
  jobs: readonly string[],
): Promise<LakeFile | undefined> {
  const file = (await readLakeFile(store))?.file;
  if (file !== undefined && source !== undefined)
    for (const job of jobs) expectSource(store.url, file, source, job);
  return file;
}

/** What became of it. `nothing-to-accept`: the next export of the job writes down its source. */
interface AcceptedSource {
  readonly state: 'accepted' | 'accepted-before' | 'nothing-to-accept';
  readonly before?: string;
}

/** Somebody says that a job is copied from this source from now on. Throws FencedError `lake-converting`. */
export async function acceptSource(
  store: ObjectStore,
  source: LakeSource,
  job: string,
): Promise<AcceptedSource> {
  for (;;) {
    const found = await readLakeFile(store);
    const before = found && sourceOf(found.file, job);
    if (found === undefined || (before === undefined && found.file.madeUp !== true))
      return { state: 'nothing-to-accept' };
    if (before === source.url) return { state: 'accepted-before' };
    if (found.file.converting !== undefined) throw isConverting();
    const file: LakeFile = { ...found.file, sources: { ...found.file.sources, [job]: source.url } };
    if ((await store.putIf(LAKE_KEY, jsonBytes(file), found.version)) !== undefined)
      return { state: 'accepted', ...(before !== undefined && { before }) };
  }
}
