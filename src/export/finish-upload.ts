/** The last part of a day's upload, and what publishing it will change in the job's table. */
import type { Receipt, SealedDay } from '../core/model/index.ts';
import type { Claim } from '../lake/claims/claim.ts';
import type { PartUpload } from '../lake/publish/parts.ts';
import { holdsParts } from '../store/uploaded-parts.ts';
import type { ExportPorts } from './ports.ts';

/** Where the day goes: part of a sealed day. */
type Destination = Pick<SealedDay, 'upload' | 'parts' | 'table'> & {
  /** An unchanged day keeps what its receipt says of object and table. */
  readonly kept?: Pick<Receipt, 'object' | 'table'>;
};

interface FinishOptions {
  readonly claim: Claim;
  readonly parts: PartUpload;
  readonly published: Receipt | undefined;
  /** Undefined: the day has no rows. */
  readonly footer: Uint8Array | undefined;
  /** The end of a file without rows, which a plain lake puts in the place of one with rows. */
  readonly emptyFooter: () => Uint8Array;
  readonly signal: AbortSignal;
}

/** Upload what is pending. In a delta lake a day without rows has no file, and one that has not changed no new one. */
export async function finishUpload(ports: ExportPorts, options: FinishOptions): Promise<Destination> {
  const { claim, parts, footer, emptyFooter } = options;
  if (claim.table !== undefined) return await finishTableFile(ports, options, claim.table.version);
  if (footer !== undefined) await parts.finish(footer);
  else if (claim.objectVersion) await parts.finish(emptyFooter());
  return { upload: parts.upload ?? null, parts: [...parts.parts] };
}

async function finishTableFile(
  ports: ExportPorts,
  options: FinishOptions,
  since: number,
): Promise<Destination> {
  const { claim, parts, published, footer } = options;
  const remove = claim.replacedFiles;
  if (footer === undefined)
    return { upload: null, parts: [], table: remove.length === 0 ? null : { remove, add: null, since } };
  await parts.finish(footer);
  const upload = parts.upload!;
  const { fileStatistics } = await import('../lake/table/statistics.ts');
  const stats = fileStatistics(footer, upload.key);
  if (published !== undefined && (await isUnchanged(ports, options, published, stats))) {
    await parts.abort();
    const { object, table } = published;
    return { upload: null, parts: [], table: null, kept: { object, ...(table && { table }) } };
  }
  const sizeBytes = parts.parts.reduce((sum, part) => sum + part.sizeBytes, 0);
  const add = { key: upload.key, sizeBytes, modifiedMs: ports.clock.nowMs(), stats };
  return { upload, parts: [...parts.parts], table: { remove, add, since } };
}

/** The same bytes are in the table, under the name that the receipt has; and they are, for a receipt vouches for them. */
async function isUnchanged(
  { store }: ExportPorts,
  { claim, parts: { parts }, signal }: FinishOptions,
  { object }: Receipt,
  stats: string,
): Promise<boolean> {
  if (object === null || parts.length !== object.parts.length) return false;
  if (parts.some(({ sha256 }, i) => sha256 !== object.parts[i]!.sha256)) return false;
  const { key, sizeBytes } = object;
  if (!(await claim.table!.holds(claim.day, { key, sizeBytes, stats }))) return false;
  if ((await store.head(key))?.sizeBytes !== sizeBytes) return false;
  return await holdsParts(parts, (fromByte, toByte) => {
    signal.throwIfAborted();
    return store.getRange(key, fromByte, toByte);
  });
}
