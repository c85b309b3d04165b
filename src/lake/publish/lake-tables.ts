/** The tables of a delta lake: one for each job, opened when its first vessel-day begins. */
import type { Receipt } from '../../core/model/index.ts';
import { objectPrefix } from '../keys.ts';
import type { TableContent } from '../table/schema.ts';
import type { TablePorts } from '../table/table.ts';
import type { JobTable } from './job-table.ts';

export type LakeTables = ReturnType<typeof createLakeTables>;

export function createLakeTables(ports: Pick<TablePorts, 'store' | 'clock' | 'log' | 'retention'>) {
  const opened = new Map<string, Promise<JobTable>>();

  async function open(content: TableContent): Promise<JobTable> {
    // A plain lake has none of this.
    const [{ JobTable }, { expectLog }, { openTable }] = await Promise.all([
      import('./job-table.ts'),
      import('./table-files.ts'),
      import('../table/table.ts'),
    ]);
    const prefix = objectPrefix(content.job);
    const found = await openTable({ ...ports, prefix });
    await expectLog(ports.store, content.job, found);
    const table = new JobTable({ ...ports, prefix, table: found });
    await table.prepare(content);
    return table;
  }

  return {
    /**
     * A job's table, made or given more columns where that is needed. Throws RefusedError `table-schema` where it cannot
     * take what the job exports now, DataError `damaged-log` where it is lost, and what the store throws.
     */
    async open(content: TableContent): Promise<JobTable> {
      let table = opened.get(content.job);
      if (table === undefined) {
        table = open(content);
        opened.set(content.job, table);
        table.catch(() => opened.delete(content.job));
      }
      return await table;
    },
    /** Throws DataError `damaged-log` where the log of an open table has lost the version that a receipt names. */
    async expect(receipt: Receipt): Promise<void> {
      await (await opened.get(receipt.job))?.expect(receipt);
    },
    /** Whatever was begun has ended. */
    async close(): Promise<void> {
      for (const table of opened.values()) await (await table.catch(() => undefined))?.close();
    },
  };
}
