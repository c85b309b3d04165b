/**
 * What reconcile keeps of the receipts of a look-back: numbers and digests in flat arrays, 93 bytes for each receipt and
 * its place in a map, for a large fleet has hundreds of thousands of them. As objects they take a kilobyte.
 */
import type { Receipt, VesselDay } from '../../core/model/index.ts';
import { detailKey } from '../../lake/keys.ts';
import { DayMap } from '../../lake/ledger/day-map.ts';
import type { IndexedPart } from '../../lake/ledger/indexed-receipt.ts';
import { isSha256 } from '../../lake/shapes.ts';

/** The part of a receipt that is kept. */
export type PublishedDay = Pick<Receipt, 'settingsHash' | 'rows' | 'epoch' | 'proof' | 'detail'> & {
  readonly source: Pick<NonNullable<Receipt['source']>, 'rows' | 'totalsSha256'> | null;
};

/** What it is made of. */
export const PUBLISHED_MEMBERS = ['settingsHash', 'rows', 'epoch', 'proof', 'source', 'detail'] as const;
type TakenReceipt = IndexedPart<(typeof PUBLISHED_MEMBERS)[number]>;

type Place = Pick<VesselDay, 'vessel' | 'date'>;

export interface PublishedDays {
  /** Keep a receipt; a later one of a vessel-day takes the place of an earlier one. */
  take(receipt: TakenReceipt): void;
  /** Undefined: none was taken. A new object each time. */
  get(day: Place): PublishedDay | undefined;
}

/** Receipts of one job. */
export function createPublishedDays(job: string): PublishedDays {
  const placeOf = new DayMap<number>();
  let taken = 0;
  const blocks: Block[] = [];
  const kinds = createKinds();
  /** Of details that lie elsewhere than usual. */
  const otherKeys = new Map<number, string>();

  function placeFor(receipt: TakenReceipt): number {
    const known = placeOf.get(receipt);
    if (known !== undefined) return known;
    if (taken % BLOCK_RECEIPTS === 0) blocks.push(createBlock());
    placeOf.set(receipt, taken);
    return taken++;
  }

  function take(receipt: TakenReceipt): void {
    const place = placeFor(receipt);
    const [block, at] = [blocks[Math.floor(place / BLOCK_RECEIPTS)]!, place % BLOCK_RECEIPTS];
    const { source, detail } = receipt;
    block.rows[at] = receipt.rows;
    block.epochs[at] = receipt.epoch;
    block.kinds[at] = kinds.codeOf(receipt);
    block.sourceRows[at] = source?.rows ?? Number.NaN;
    block.totals.put(at, source?.totalsSha256);
    block.details.put(at, detail?.sha256);
    if (detail === null || detail.key === detailKey(receipt)) otherKeys.delete(place);
    else otherKeys.set(place, detail.key);
  }

  function get({ vessel, date }: Place): PublishedDay | undefined {
    const place = placeOf.get({ vessel, date });
    if (place === undefined) return undefined;
    const [block, at] = [blocks[Math.floor(place / BLOCK_RECEIPTS)]!, place % BLOCK_RECEIPTS];
    const [rows, totalsSha256, sha256] = [block.sourceRows[at]!, block.totals.get(at), block.details.get(at)];
    const source = totalsSha256 === undefined ? { rows } : { rows, totalsSha256 };
    const key = () => otherKeys.get(place) ?? detailKey({ job, vessel, date });
    return {
      ...kinds.of(block.kinds[at]!),
      rows: block.rows[at]!,
      epoch: block.epochs[at]!,
      source: Number.isNaN(rows) ? null : source,
      detail: sha256 === undefined ? null : { key: key(), sha256 },
    };
  }

  return { take, get };
}

/** Memory comes in pieces of this many: what is there already need not be copied. */
const BLOCK_RECEIPTS = 8_192;
type Block = ReturnType<typeof createBlock>;

function createBlock() {
  return {
    rows: new Float64Array(BLOCK_RECEIPTS),
    epochs: new Float64Array(BLOCK_RECEIPTS),
    kinds: new Uint32Array(BLOCK_RECEIPTS),
    /** NaN: the source was not asked. */
    sourceRows: new Float64Array(BLOCK_RECEIPTS),
    totals: createDigests(),
    details: createDigests(),
  };
}

const DIGEST_BYTES = 32;

/** SHA-256 in hex. What is none is not kept: it is equal to nothing. */
function createDigests() {
  const bytes = Buffer.alloc(BLOCK_RECEIPTS * DIGEST_BYTES);
  const isThere = new Uint8Array(BLOCK_RECEIPTS);
  return {
    put(at: number, hex: unknown): void {
      isThere[at] = isSha256(hex) ? 1 : 0;
      if (isThere[at] === 1) bytes.write(hex as string, at * DIGEST_BYTES, DIGEST_BYTES, 'hex');
    },
    get(at: number): string | undefined {
      if (isThere[at] === 0) return undefined;
      return bytes.toString('hex', at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES);
    },
  };
}

type Kind = Pick<Receipt, 'settingsHash' | 'proof'>;

/** Settings and proof together: a fleet has few of them. */
function createKinds() {
  const codes = new Map<string, number>();
  const kinds: Kind[] = [];
  return {
    codeOf({ settingsHash, proof }: Kind): number {
      const name = `${proof} ${settingsHash}`;
      const code = codes.get(name) ?? kinds.push({ settingsHash, proof }) - 1;
      codes.set(name, code);
      return code;
    },
    of: (code: number): Kind => kinds[code]!,
  };
}
