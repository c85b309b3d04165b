/**
 * The service that a job of a lake is copied from. `_lake.json` says it, so that readings of two services never meet in
 * one job, nor made-up ones with those of a service.
 */
import { ConfigError } from '../core/errors.ts';
import { readWebAddress } from '../core/model/web-address.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes } from './json.ts';
import { LAKE_KEY } from './keys.ts';
import { isConverting, type LakeFile, readLakeFile } from './lake-file.ts';

export interface LakeSource {
  /** Base URL with its tenant, without secrets; of made-up readings any text. */
  readonly url: string;
  /** The readings are of no ship. */
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
    `the lake at ${lakeUrl} ${what}, and QUERY_BASE_URL is ${source.url}: correct it, or set LAKE_URL to another lake. Where it is meant, as when the service has moved, say so once: 'vessel-export accept ${job} --source'`,
  );
}

/**
 * Throws what `expectSource` throws of these jobs; nothing where no source is known here, or no lake is there. The lake's
 * file.
 */
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
