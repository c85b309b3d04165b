/** The prompt of `sql`: statements end with a semicolon, Ctrl-C stops a query, Ctrl-D leaves. */
import { createInterface } from 'node:readline/promises';
import { CancelledError, messageOf, VesselExportError } from '../../core/errors.ts';
import type { LakeSession } from '../../query/sql/lake-session.ts';
import { writeRowTable } from '../terminal/query-view.ts';
import { paint, writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';

const LEAVE = /^\s*(exit|quit|\\q|[.]quit|[.]exit)\s*;?\s*$/i;

/**
 * Statements between semicolons, those within quotes, dollar quotes and comments left alone. What is no statement is
 * DuckDB's to find.
 */
export function splitStatements(text: string): string[] {
  const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|;/g;
  const statements: string[] = [];
  let from = 0;
  for (const match of text.matchAll(token)) {
    if (match[0] !== ';') continue;
    statements.push(text.slice(from, match.index));
    from = match.index + 1;
  }
  statements.push(text.slice(from));
  const isBlank = (one: string) => one.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, '').trim() === '';
  return statements.filter((one) => !isBlank(one)).map((one) => one.trim());
}

/** Until the input ends. */
export async function askQueries(
  context: CommandContext,
  session: LakeSession,
  input: NodeJS.ReadStream,
): Promise<void> {
  const { stdout, stderr, signal } = context;
  writeText(
    stdout,
    "Queries end with ';'. SHOW TABLES; lists the views, Ctrl-C stops a query, Ctrl-D leaves.\n",
  );
  const lines = createInterface({ input, output: process.stdout, terminal: true, historySize: 500 });
  let running: AbortController | undefined;
  let typed = '';
  const ask = () => {
    lines.setPrompt(typed === '' ? 'lake> ' : '   -> ');
    lines.prompt();
  };
  lines.on('SIGINT', () => {
    if (running !== undefined) return running.abort(new CancelledError('interrupted'));
    typed = '';
    lines.write(null, { ctrl: true, name: 'u' });
    writeText(stdout, '\n');
    ask();
  });
  const leave = () => lines.close();
  signal.addEventListener('abort', leave, { once: true });
  try {
    ask();
    for await (const line of lines) {
      if (typed === '' && LEAVE.test(line)) break;
      typed += `${line}\n`;
      if (!/;\s*$/.test(typed)) {
        if (typed.trim() === '') typed = '';
        ask();
        continue;
      }
      const statements = splitStatements(typed);
      typed = '';
      running = new AbortController();
      const until = AbortSignal.any([signal, running.signal]);
      try {
        for (const statement of statements)
          await writeRowTable(stdout, await session.query(statement, until));
      } catch (error) {
        if (!(error instanceof VesselExportError)) throw error;
        writeText(stderr, `${paint(stderr, 'red', 'error:')} ${messageOf(error)}\n`);
      }
      running = undefined;
      ask();
    }
  } finally {
    signal.removeEventListener('abort', leave);
    lines.close();
  }
}
