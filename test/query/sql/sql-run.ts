/** `sql` on a lake, in this process. */
import { Readable } from 'node:stream';
import { type SqlOptions, sqlCommand } from '../../../src/cli/commands/sql.ts';
import { type CommandPlace, type CommandRun, commandRun } from '../../helpers/command-run.ts';
import { DEFAULTS, JOBS } from '../views/view-lake.ts';

/** `sql` undefined: from `input`. */
export function runSql(
  place: Partial<CommandPlace> & Pick<CommandPlace, 'lakeUrl'>,
  sql: string | undefined,
  options: Partial<SqlOptions> = {},
  input = '',
): Promise<CommandRun> {
  const stdin = Readable.from([input]) as unknown as NodeJS.ReadStream;
  return commandRun({ jobs: JOBS, ...place }, (context) =>
    sqlCommand(context, sql, { ...DEFAULTS, ...options }, stdin),
  );
}
