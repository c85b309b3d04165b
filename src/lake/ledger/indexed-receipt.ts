/** The members of each receipt in the index, and their columns. */
import { type Moment, type Receipt, toMoment } from '../../core/model/index.ts';
import { isCount, isSha256, isText, RECEIPT, RECEIPT_ADDED } from '../shapes.ts';
import type { ReceiptVersion } from './ledger.ts';

export interface IndexRow
  extends Pick<
    Receipt,
    | ('job' | 'vessel' | 'date' | 'epoch' | 'settingsHash' | 'proof' | 'rows' | 'dataset' | 'series')
    | ('selectedSeries' | 'remark' | 'warnings' | 'unlisted')
  > {
  /** Absent if there are no rows. */
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  /** Bytes of the published object; 0 if there is none. */
  readonly objectBytes: number;
  readonly started: Moment;
  readonly finished: Moment;
  /** Readings as the source counted them, and the digest of its totals. */
  readonly sourceRows?: number;
  readonly totalsSha256?: string;
  readonly detailSha256?: string;
  /** Size and tag in the list when the receipt was read. */
  readonly listedBytes: number;
  readonly tag: string;
}

/** Members that can be read from the index, besides the vessel-day. */
export type IndexedMember = Exclude<keyof IndexRow, 'job' | 'vessel' | 'date' | 'listedBytes' | 'tag'>;

/** The rows of an index, with only the requested members. */
export type IndexedPart<M extends IndexedMember> = Pick<IndexRow, M | 'job' | 'vessel' | 'date'>;

export function toIndexRow(receipt: Receipt, { sizeBytes: listedBytes, tag }: ReceiptVersion): IndexRow {
  const { job, vessel, date, epoch, settingsHash, proof, rows, startedAt, finishedAt } = receipt;
  const { source, detail, selectedSeries, remark, warnings, unlisted, object } = receipt;
  const { dataset, series, firstTimestamp, lastTimestamp } = receipt;
  return {
    ...{ job, vessel, date, epoch, settingsHash, proof, rows, dataset, series, listedBytes, tag },
    ...(firstTimestamp !== null && { firstTimestamp }),
    ...(lastTimestamp !== null && { lastTimestamp }),
    ...(selectedSeries !== undefined && { selectedSeries }),
    ...(remark !== undefined && { remark }),
    ...(warnings !== undefined && { warnings }),
    ...(unlisted !== undefined && { unlisted }),
    objectBytes: object?.sizeBytes ?? 0,
    ...{ started: toMoment(startedAt), finished: toMoment(finishedAt) },
    ...(source !== null && { sourceRows: source.rows }),
    ...(source?.totalsSha256 !== undefined && { totalsSha256: source.totalsSha256 }),
    ...(detail !== null && { detailSha256: detail.sha256 }),
  };
}

export function partOf<M extends IndexedMember>(row: IndexRow, members: readonly M[]): IndexedPart<M> {
  const { job, vessel, date } = row;
  const part: Record<string, unknown> = { job, vessel, date };
  for (const member of members) if (row[member] !== undefined) part[member] = row[member];
  return part as unknown as IndexedPart<M>;
}

const LAST_MILLIS = Date.UTC(2199, 11, 31, 23, 59, 59, 999);

/** Whether the index can hold this instant: only texts in the form of a Date can be restored exactly. */
function isIndexedMoment(moment: unknown): boolean {
  return typeof moment === 'number' && moment >= 0 && moment <= LAST_MILLIS;
}

/** Whether a receipt may be in an index. Without a tag a replacement would not be noticed. */
export function isIndexable({ started, finished, tag }: IndexRow): boolean {
  return tag !== '' && isIndexedMoment(started) && isIndexedMoment(finished);
}

/** Encoding of a column. `repeated`: text with few different values; `moment`: a time in milliseconds; `json`: any value, mostly absent. */
export interface Column {
  readonly kind: 'text' | 'repeated' | 'number' | 'moment' | 'json';
  readonly isRight: (value: unknown) => boolean;
  readonly isOptional?: boolean;
}

const member = (name: string, kind: Column['kind']): Column => ({
  ...{ kind, isRight: (RECEIPT[name] ?? RECEIPT_ADDED[name])![0] },
});
const optional = (column: Column): Column => ({ ...column, isOptional: true });
const COUNT: Column = { kind: 'number', isRight: isCount };
const MOMENT: Column = { kind: 'moment', isRight: isIndexedMoment };
const SHA256 = optional({ kind: 'text', isRight: isSha256 });

export const COLUMNS: Readonly<Record<Exclude<keyof IndexRow, 'job'>, Column>> = {
  vessel: member('vessel', 'repeated'),
  date: member('date', 'repeated'),
  listedBytes: COUNT,
  tag: { kind: 'text', isRight: isText },
  epoch: member('epoch', 'number'),
  settingsHash: member('settingsHash', 'repeated'),
  proof: member('proof', 'repeated'),
  rows: member('rows', 'number'),
  objectBytes: COUNT,
  started: MOMENT,
  finished: MOMENT,
  dataset: member('dataset', 'repeated'),
  series: member('series', 'number'),
  firstTimestamp: optional(member('firstTimestamp', 'text')),
  lastTimestamp: optional(member('lastTimestamp', 'text')),
  selectedSeries: optional(member('selectedSeries', 'number')),
  unlisted: optional(member('unlisted', 'json')),
  remark: optional(member('remark', 'json')),
  warnings: optional(member('warnings', 'json')),
  sourceRows: optional(COUNT),
  totalsSha256: SHA256,
  detailSha256: SHA256,
};
export type ColumnName = keyof typeof COLUMNS;
