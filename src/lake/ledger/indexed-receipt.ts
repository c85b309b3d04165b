/** What the index keeps of each receipt, and the columns that it is kept in. */
import type { Moment, Receipt } from '../../core/model/index.ts';
import { toMoment } from '../../core/model/index.ts';
import { detailKey } from '../keys.ts';
import { isCount, isSha256, isText, RECEIPT, RECEIPT_ADDED } from '../shapes.ts';
import type { Form } from './index-forms.ts';
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

export interface Column {
  readonly of: (row: IndexRow) => unknown;
  readonly isRight: (value: unknown) => boolean;
  readonly form: Form;
  /** May have no value; null stands for it. */
  readonly isOptional?: boolean;
}

const right = (member: string) => (RECEIPT[member] ?? RECEIPT_ADDED[member])![0];
const isInstant = right('finishedAt');
const optional = { isOptional: true };

export const COLUMNS = {
  vessel: { of: ({ vessel }) => vessel, isRight: right('vessel'), form: 'repeated' },
  date: { of: ({ date }) => date, isRight: right('date'), form: 'repeated' },
  listedBytes: { of: ({ listed }) => listed.sizeBytes, isRight: isCount, form: 'numbers' },
  tag: { of: ({ listed }) => listed.tag, isRight: isText, form: 'texts' },
  epoch: { of: ({ epoch }) => epoch, isRight: right('epoch'), form: 'numbers' },
  settingsHash: {
    of: ({ settingsHash }) => settingsHash,
    isRight: right('settingsHash'),
    form: 'repeated',
  },
  proof: { of: ({ proof }) => proof, isRight: right('proof'), form: 'repeated' },
  rows: { of: ({ rows }) => rows, isRight: right('rows'), form: 'numbers' },
  objectBytes: { of: ({ objectBytes }) => objectBytes, isRight: isCount, form: 'numbers' },
  startedAt: { of: ({ startedAt }) => startedAt, isRight: isInstant, form: 'instants' },
  finishedAt: { of: ({ finishedAt }) => finishedAt, isRight: isInstant, form: 'instants' },
  dataset: { of: ({ dataset }) => dataset, isRight: right('dataset'), form: 'repeated' },
  series: { of: ({ series }) => series, isRight: right('series'), form: 'numbers' },
  firstTimestamp: {
    of: ({ firstTimestamp }) => firstTimestamp,
    ...{ isRight: right('firstTimestamp'), form: 'json', ...optional },
  },
  lastTimestamp: {
    of: ({ lastTimestamp }) => lastTimestamp,
    ...{ isRight: right('lastTimestamp'), form: 'json', ...optional },
  },
  selectedSeries: {
    of: ({ selectedSeries }) => selectedSeries,
    ...{ isRight: right('selectedSeries'), form: 'numbers', ...optional },
  },
  unlisted: {
    of: ({ unlisted }) => unlisted,
    ...{ isRight: right('unlisted'), form: 'sparse', ...optional },
  },
  remark: { of: ({ remark }) => remark, isRight: right('remark'), form: 'sparse', ...optional },
  warnings: { of: ({ warnings }) => warnings, isRight: right('warnings'), form: 'sparse', ...optional },
  sourceRows: { of: ({ source }) => source?.rows, isRight: isCount, form: 'numbers', ...optional },
  askedAt: { of: ({ source }) => source?.askedAt, isRight: isInstant, form: 'instants', ...optional },
  totalsSha256: {
    of: ({ source }) => source?.totalsSha256,
    ...{ isRight: isSha256, form: 'texts', ...optional },
  },
  detailSha256: { of: ({ detail }) => detail?.sha256, isRight: isSha256, form: 'texts', ...optional },
  /** Where it is not the usual one. */
  detailKey: {
    of: (row) => (row.detail?.key === detailKey(row) ? undefined : row.detail?.key),
    ...{ isRight: isText, form: 'sparse', ...optional },
  },
} as const satisfies Record<string, Column>;
export type ColumnName = keyof typeof COLUMNS;

/** The columns that a member is put together from, beside those that every reader needs. */
export const COLUMNS_OF: Readonly<Record<IndexedMember, readonly ColumnName[]>> = {
  epoch: ['epoch'],
  settingsHash: ['settingsHash'],
  proof: ['proof'],
  rows: ['rows'],
  objectBytes: ['objectBytes'],
  startedAt: ['startedAt'],
  started: ['startedAt'],
  finishedAt: ['finishedAt'],
  finished: ['finishedAt'],
  dataset: ['dataset'],
  series: ['series'],
  firstTimestamp: ['firstTimestamp'],
  lastTimestamp: ['lastTimestamp'],
  selectedSeries: ['selectedSeries'],
  unlisted: ['unlisted'],
  remark: ['remark'],
  warnings: ['warnings'],
  source: ['sourceRows', 'askedAt', 'totalsSha256'],
  detail: ['detailSha256', 'detailKey'],
};

/** The rows of an index, with those members alone that were asked for. */
export type IndexedPart<M extends IndexedMember> = Pick<IndexedReceipt, M | 'job' | 'vessel' | 'date'>;
