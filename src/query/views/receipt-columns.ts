/** Columns of the view `receipts`, and where a receipt has them. */
interface ReceiptColumn {
  readonly name: string;
  readonly path: readonly [string] | readonly [string, string];
  readonly type: 'text' | 'long' | 'timestamp' | 'date';
}

export const RECEIPT_COLUMNS: readonly ReceiptColumn[] = [
  { name: 'job', path: ['job'], type: 'text' },
  { name: 'vessel', path: ['vessel'], type: 'text' },
  { name: 'date', path: ['date'], type: 'date' },
  { name: 'dataset', path: ['dataset'], type: 'text' },
  { name: 'rows', path: ['rows'], type: 'long' },
  { name: 'series', path: ['series'], type: 'long' },
  { name: 'selected_series', path: ['selectedSeries'], type: 'long' },
  { name: 'proof', path: ['proof'], type: 'text' },
  { name: 'source_rows', path: ['source', 'rows'], type: 'long' },
  { name: 'first_timestamp', path: ['firstTimestamp'], type: 'timestamp' },
  { name: 'last_timestamp', path: ['lastTimestamp'], type: 'timestamp' },
  { name: 'size_bytes', path: ['object', 'sizeBytes'], type: 'long' },
  { name: 'remark', path: ['remark', 'kind'], type: 'text' },
  { name: 'finished_at', path: ['finishedAt'], type: 'timestamp' },
];
