/** What the index keeps of each receipt, and the columns that it is kept in. */
import type { Moment, Receipt } from '../../core/model/index.ts';
import { toMoment } from '../../core/model/index.ts';
import { detailKey } from '../keys.ts';
import { isCount, isSha256, isText, RECEIPT, RECEIPT_ADDED } from '../shapes.ts';
import type { ReceiptVersion } from './ledger.ts';

/** What the index keeps of a receipt. */
type IndexedReceipt = Pick<
  Receipt,
  | ('job' | 'vessel' | 'date' | 'epoch' | 'settingsHash' | 'proof' | 'rows' | 'startedAt' | 'finishedAt')
  | ('dataset' | 'series' | 'source' | 'detail' | 'selectedSeries' | 'remark' | 'warnings' | 'unlisted')
> & {
  /** Absent where there are no rows. */
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  /** Of the published object; 0 where there is none. */
  readonly objectBytes: number;
  /** `startedAt` and `finishedAt`, for those who read hundreds of thousands. */
  readonly started: Moment;
  readonly finished: Moment;
};
export type IndexedMember = Exclude<keyof IndexedReceipt, 'job' | 'vessel' | 'date'>;

/** A receipt in the index, and what it was listed as when it was read. */
export type IndexRow = IndexedReceipt & { readonly listed: ReceiptVersion };

export function toIndexRow(receipt: Receipt, listed: ReceiptVersion): IndexRow {
  const { job, vessel, date, epoch, settingsHash, proof, rows, startedAt, finishedAt } = receipt;
  const { source, detail, selectedSeries, remark, warnings, unlisted, object } = receipt;
  const { dataset, series, firstTimestamp, lastTimestamp } = receipt;
  return {
    ...{ job, vessel, date, epoch, settingsHash, proof, rows, startedAt, finishedAt, source, detail },
    ...{ dataset, series },
    ...(firstTimestamp !== null && { firstTimestamp }),
    ...(lastTimestamp !== null && { lastTimestamp }),
    ...(selectedSeries !== undefined && { selectedSeries }),
    ...(remark !== undefined && { remark }),
    ...(warnings !== undefined && { warnings }),
    ...(unlisted !== undefined && { unlisted }),
    objectBytes: object?.sizeBytes ?? 0,
    ...{ started: toMoment(startedAt), finished: toMoment(finishedAt) },
    listed: { sizeBytes: listed.sizeBytes, tag: listed.tag },
  };
}

const LAST_MILLIS = Date.UTC(2199, 11, 31, 23, 59, 59, 999);

/** Does the index have this moment: one that is written in the very way of a Date? */
function isIndexedMoment(moment: unknown): boolean {
  return typeof moment === 'number' && moment >= 0 && moment <= LAST_MILLIS;
}

/** May a receipt be in an index? Without a tag nobody could tell later whether it was replaced. */
export function isIndexable({ started, finished, source, listed }: IndexRow): boolean {
  const asked = source === null ? finished : toMoment(source.askedAt);
  return listed.tag !== '' && [started, finished, asked].every(isIndexedMoment);
}

/**
 * How a column is kept. `text`; `repeated`: text of few different values; `number`; `moment`: a time in milliseconds;
 * `json`: any value as JSON, of which few are there.
 */
export interface Column {
  readonly of: (row: IndexRow) => unknown;
  readonly isRight: (value: unknown) => boolean;
  readonly kind: 'text' | 'repeated' | 'number' | 'moment' | 'json';
  /** May have no value; null stands for it. */
  readonly isOptional: boolean;
}

const right = (member: string) => (RECEIPT[member] ?? RECEIPT_ADDED[member])![0];
const column = (kind: Column['kind'], isRight: Column['isRight'], of: Column['of']): Column => ({
  ...{ kind, isRight, of, isOptional: false },
});
const optional = (...[kind, isRight, of]: Parameters<typeof column>): Column => ({
  ...{ kind, isRight, of, isOptional: true },
});
const member = (name: Exclude<IndexedMember, 'objectBytes' | 'started' | 'finished'>, kind: Column['kind']) =>
  column(kind, right(name), (row) => row[name]);
const optionalMember = (...[name, kind]: Parameters<typeof member>): Column => ({
  ...member(name, kind),
  isOptional: true,
});

export const COLUMNS = {
  vessel: column('repeated', right('vessel'), ({ vessel }) => vessel),
  date: column('repeated', right('date'), ({ date }) => date),
  listedBytes: column('number', isCount, ({ listed }) => listed.sizeBytes),
  tag: column('text', isText, ({ listed }) => listed.tag),
  epoch: member('epoch', 'number'),
  settingsHash: member('settingsHash', 'repeated'),
  proof: member('proof', 'repeated'),
  rows: member('rows', 'number'),
  objectBytes: column('number', isCount, ({ objectBytes }) => objectBytes),
  startedAt: column('moment', isIndexedMoment, ({ started }) => started),
  finishedAt: column('moment', isIndexedMoment, ({ finished }) => finished),
  dataset: member('dataset', 'repeated'),
  series: member('series', 'number'),
  firstTimestamp: optionalMember('firstTimestamp', 'text'),
  lastTimestamp: optionalMember('lastTimestamp', 'text'),
  selectedSeries: optionalMember('selectedSeries', 'number'),
  unlisted: optionalMember('unlisted', 'json'),
  remark: optionalMember('remark', 'json'),
  warnings: optionalMember('warnings', 'json'),
  sourceRows: optional('number', isCount, ({ source }) => source?.rows),
  askedAt: optional('moment', isIndexedMoment, ({ source }) => source && toMoment(source.askedAt)),
  totalsSha256: optional('text', isSha256, ({ source }) => source?.totalsSha256),
  detailSha256: optional('text', isSha256, ({ detail }) => detail?.sha256),
  /** Where it is not the usual one. */
  detailKey: optional('text', isText, (row) =>
    row.detail?.key === detailKey(row) ? undefined : row.detail?.key,
  ),
} as const satisfies Record<string, Column>;
export type ColumnName = keyof typeof COLUMNS;

/** Members that are put together from other columns than that of their name. */
export const MADE_OF: Readonly<Partial<Record<IndexedMember, readonly ColumnName[]>>> = {
  started: ['startedAt'],
  finished: ['finishedAt'],
  source: ['sourceRows', 'askedAt', 'totalsSha256'],
  detail: ['detailSha256', 'detailKey'],
};

/** The rows of an index, with those members alone that were asked for. */
export type IndexedPart<M extends IndexedMember> = Pick<IndexedReceipt, M | 'job' | 'vessel' | 'date'>;

/** The same of a receipt that was fetched. */
export function partOf<M extends IndexedMember>(row: IndexRow, members: readonly M[]): IndexedPart<M> {
  const { job, vessel, date } = row;
  const part: Record<string, unknown> = { job, vessel, date };
  for (const member of members) if (row[member] !== undefined) part[member] = row[member];
  return part as unknown as IndexedPart<M>;
}
