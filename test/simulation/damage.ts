/** What may happen to a file of a lake behind everybody's back, and what `verify` is to say of it: that, and nothing else. */
import type { ObjectStore } from '../../src/store/store.ts';
import type { Oracles } from './oracles.ts';
import { JOB } from './process.ts';

export const DAMAGES = [
  'an object is flipped',
  'an object is cut',
  'an object is gone',
  'a receipt is cut',
  'a receipt is gone',
  'a detail is gone',
  'an entry of the log is gone',
] as const;
/** Beside the damage: what an attempt at the same vessel-day has left. */
export const LEFTOVERS = ['nothing', 'a claim', 'an upload'] as const;
export type Crossing = `${(typeof DAMAGES)[number]} / ${(typeof LEFTOVERS)[number]}`;

export interface Damage {
  readonly kind: (typeof DAMAGES)[number];
  readonly key: string;
  /** What is there now; undefined: nothing. */
  readonly bytes: Uint8Array | undefined;
  /** What `verify` may say, and of which key. */
  readonly names: readonly string[];
  readonly where: string;
  readonly beside: (typeof LEFTOVERS)[number];
}

const LOG = `${JOB}/_delta_log/`;

/** All that can happen to one file of the lake as it is. `uploads`: keys of those that are open. */
export function damagesOf(oracles: Oracles, uploads: readonly string[]): Damage[] {
  const damages: Damage[] = [];
  const isTable = oracles.layout === 'delta';
  for (const [day, { object, detail }] of oracles.receipts) {
    const [vessel, date] = day.split(' ');
    const receipt = `_ledger/${JOB}/date=${date}/vessel=${vessel}.json`;
    const isUploading = uploads.some((key) => key.includes(`vessel=${vessel}/date=${date}/`));
    const beside = isUploading ? 'an upload' : oracles.hasClaim(day) ? 'a claim' : 'nothing';
    const add = (kind: Damage['kind'], key: string, bytes: Uint8Array | undefined, ...names: string[]) =>
      damages.push({ kind, key, bytes, names, where: key, beside });
    // A draft that is published and lacks only its receipt counts instead: whoever goes on writes the rest of it.
    if (oracles.isDraftPublished(day)) continue;
    const bytes = object && oracles.bytesOf(object.key);
    if (bytes) {
      const flipped = Uint8Array.from(bytes);
      flipped[bytes.length >> 1]! ^= 1;
      add('an object is flipped', object.key, flipped, 'checksum-differs');
      add('an object is cut', object.key, bytes.subarray(0, bytes.length - 1), 'size-differs');
      add('an object is gone', object.key, undefined, 'object-missing');
    }
    const whole = oracles.bytesOf(receipt)!;
    add('a receipt is cut', receipt, whole.subarray(0, whole.length - 2), 'receipt-damaged');
    if (detail) add('a detail is gone', detail.key, undefined, 'detail-missing');
    // Of a day without readings nothing but the receipt tells.
    const left = object?.key ?? detail?.key;
    if (left !== undefined && !oracles.hasOwnDraft(day))
      damages.push({
        ...{ kind: 'a receipt is gone', key: receipt, bytes: undefined },
        ...{ names: ['receipt-missing'], where: left, beside },
      });
    const version = oracles.receipts.get(day)!.table?.version;
    const entry = `${LOG}${`${version}`.padStart(20, '0')}.json`;
    // Without a log nobody can say which drafts are published.
    const isSilent = [...oracles.receipts.keys()].some((other) => oracles.isDraftPublished(other));
    if (isTable && version !== undefined && oracles.bytesOf(entry) && !oracles.log.hasCheckpoint && !isSilent)
      damages.push({
        ...{ kind: 'an entry of the log is gone', key: entry, bytes: undefined },
        ...{ names: ['log-damaged'], where: LOG, beside },
      });
  }
  return damages;
}

/** A store in which a file is damaged, for those who only read it. */
export function damagedStore(disk: ObjectStore, { key, bytes }: Pick<Damage, 'key' | 'bytes'>): ObjectStore {
  const found = bytes && { bytes, version: 'damaged' };
  return {
    ...disk,
    get: async (one) => (one === key ? found : disk.get(one)),
    getRange: async (one, from, to) => (one === key ? bytes?.slice(from, to) : disk.getRange(one, from, to)),
    head: async (one) =>
      one === key ? found && { sizeBytes: bytes!.length, version: found.version } : disk.head(one),
    async *listPages(prefix) {
      for await (const page of disk.listPages(prefix))
        yield page.flatMap((listed) => {
          if (listed.key !== key) return [listed];
          return bytes ? [{ ...listed, sizeBytes: bytes.length, tag: 'damaged' }] : [];
        });
    },
    publishedBy: async (upload, parts) => {
      const size = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      return (await disk.publishedBy(upload, parts)) && (upload.key !== key || bytes?.length === size);
    },
  };
}

/** For people: a line a damage. */
export function tellCrossings(crossings: ReadonlyMap<Crossing, number>): string {
  const lines = DAMAGES.map((kind) => {
    const counts = LEFTOVERS.map((left) => `beside ${left} ${crossings.get(`${kind} / ${left}`) ?? '-'}`);
    return `${kind}: ${counts.join(' · ')}\n`;
  });
  return lines.join('');
}
