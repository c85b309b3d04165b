import { FatalError } from '../../core/errors.ts';
import { CREATED_BY } from './columns.ts';
import { readMetadata } from './parquet-tail.ts';

/** What is known of the gathered rows, from before they were sorted and encoded. */
export interface RowFacts {
  readonly rows: number;
  /** Undefined for rows without a time. */
  readonly minMicros: number | undefined;
  readonly maxMicros: number | undefined;
  /** Nulls that columns must have, together. */
  readonly nulls: readonly { readonly columns: readonly string[]; readonly count: number }[];
  /** Readings in all series and hours together; undefined where none are counted. */
  readonly readings: number | undefined;
}

/**
 * Compare what an encoded row group says of itself with what was gathered. Throws FatalError `encode-check-failed`: the
 * encoder has a defect, and nothing of this row group may be uploaded.
 */
export function checkRowGroup(
  { body, tail }: { body: Uint8Array; tail: Uint8Array },
  facts: RowFacts,
  readings: number,
): void {
  const { row_groups: groups, num_rows: fileRows, created_by: createdBy } = readMetadata(tail);
  expectEqual('row groups', groups.length, 1);
  expectEqual('rows in the footer', Number(fileRows), facts.rows);
  expectEqual('rows in the row group', Number(groups[0]?.num_rows), facts.rows);
  expectEqual('the name of the writer', createdBy ?? 'none', CREATED_BY);
  const chunkBytes = groups[0]!.columns.map(({ meta_data: meta }) => Number(meta?.total_compressed_size));
  expectEqual(
    'bytes of column chunks',
    chunkBytes.reduce((sum, bytes) => sum + bytes, 0),
    body.length,
  );
  const statistics = new Map(
    groups[0]!.columns.map(({ meta_data: meta }) => [meta?.path_in_schema.join('.') ?? '', meta?.statistics]),
  );
  if (facts.minMicros !== undefined && facts.maxMicros !== undefined) {
    const timestamps = statistics.get('timestamp');
    expectEqual('the smallest timestamp', Number(timestamps?.min_value), facts.minMicros);
    expectEqual('the largest timestamp', Number(timestamps?.max_value), facts.maxMicros);
  }
  for (const { columns, count } of facts.nulls) {
    const found = columns.reduce((sum, name) => sum + Number(statistics.get(name)?.null_count), 0);
    expectEqual(`nulls in ${columns.join(', ')}`, found, count);
  }
  if (facts.readings !== undefined) expectEqual('readings by series and hour', readings, facts.readings);
}

function expectEqual(what: string, found: number | string, expected: number | string): void {
  if (found === expected) return;
  throw new FatalError(
    'encode-check-failed',
    `The encoded row group, read back: ${what}: got ${found}, expected ${expected}; nothing was uploaded from it. This is a defect of vessel-export: report it`,
  );
}
