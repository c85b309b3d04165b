/**
 * The words of this project, one each; code, logs and documents use no synonyms.
 *
 *   job            a named export in `jobs/<name>.yaml`: what to read, when, where to            → job.ts
 *   vessel-day     one job × one vessel × one UTC day: the unit of work, publishing, receipts     → vessel-day.ts
 *   page           one request's half-open time range; the pages of a vessel-day tile the day     → range.ts
 *   column batch   decoded rows as typed arrays                                                   → column-batch.ts
 *   row group      sealed, sorted, encoded Parquet row group                                      → row-group.ts
 *   part           whole row groups gathered until ≥ 5 MiB: unit of upload and of checkpointing   → row-group.ts
 *   claim          who owns an unfinished vessel-day: epoch, host, pid, heartbeat                 → claim.ts
 *   epoch          number of the attempt that owns a vessel-day; a higher one fences a lower one  → claim.ts
 *   checkpoint     durable progress of one unfinished vessel-day, kept in its claim's file        → claim.ts
 *   publish        the one act that makes a vessel-day visible
 *   receipt        JSON that commits a published vessel-day and carries its proof                 → receipt.ts
 *   ledger         all receipts
 *
 * Every range is half-open, `[from, to)`. Instants are whole microseconds since 1970-01-01T00:00Z in a
 * JavaScript number: exact for the years this project accepts (1970 to 2199).
 */
export * from './claim.ts';
export * from './column-batch.ts';
export * from './counts.ts';
export * from './job.ts';
export * from './limits.ts';
export * from './ports.ts';
export * from './query.ts';
export * from './range.ts';
export * from './receipt.ts';
export * from './row-group.ts';
export * from './series.ts';
export * from './time.ts';
export * from './vessel-day.ts';
