import type { TableContent } from './schema.ts';
import type { Table } from './table.ts';

interface PrepareOptions {
  /** Versions that others may win in a row; absent: any number. */
  readonly maxRounds?: number;
  /** Called after a version is seen and before the next one is put. */
  readonly beforeCommit?: () => Promise<void>;
}

/**
 * Make a table, or give it more columns, until it can take files of `content`. False: others have won all rounds. Throws
 * what `preparation` and `commit` throw.
 */
export async function prepareTable(
  table: Pick<Table, 'version' | 'preparation' | 'commit' | 'refresh'>,
  content: TableContent,
  { maxRounds = Number.POSITIVE_INFINITY, beforeCommit }: PrepareOptions = {},
): Promise<boolean> {
  for (let round = 0; ; round++) {
    const actions = table.preparation(content);
    if (actions.length === 0) return true;
    if (round === maxRounds) return false;
    const { version } = table;
    await beforeCommit?.();
    const operation = version < 0 ? 'CREATE TABLE' : 'ADD COLUMNS';
    if (!(await table.commit(version, operation, actions))) await table.refresh();
  }
}
