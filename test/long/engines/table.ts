/** The table of docs/engines.md: what was read by whom, and what wrongly. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FLAWS, type Flaw } from './engines.ts';
import { HISTORIES, type History } from './lakes.ts';

export interface Cell {
  readonly engine: string;
  readonly history: History;
  readonly store: 'folder' | 's3';
  readonly asked: number;
  readonly flaws: readonly Flaw[];
}

const PAGE = join(import.meta.dirname, '../../../docs/engines.md');
const BLOCK = /(<!-- written by npm run engines -->\n)[\s\S]*?(<!-- end of what it writes -->)/;
const TITLES: Readonly<Record<string, string>> = {
  ...{ 'delta-rs': 'delta-rs (`deltalake`)', polars: 'Polars', duckdb: 'DuckDB, with its extension `delta`' },
  ...{ pyarrow: 'pyarrow', datafusion: 'DataFusion', daft: 'Daft', clickhouse: 'ClickHouse' },
  ...{ spark: 'Spark, with Delta 4.0.1', trino: 'Trino, connector `hive`' },
};
const HEADS: Readonly<Record<History, string>> = {
  ...{ plain: 'plain', delta: 'delta', tidied: 'delta, log cleaned up', converted: 'delta, converted' },
};

/** Writes the rows of these engines, by their versions; those of the others stay. */
export async function writeTable(
  versions: ReadonlyMap<string, string>,
  cells: readonly Cell[],
): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  const [, , before] =
    /(<!-- written by npm run engines -->\n)([\s\S]*?)<!-- end of what it writes -->/.exec(page) ?? [];
  if (before === undefined) throw new Error(`${PAGE} has no place for the table`);
  const known = new Map(
    before.split('\n').map((line) => [line.split(' | ')[0]!.replace('| ', ''), line] as const),
  );
  const rows = Object.entries(TITLES).flatMap(([engine, title]) => {
    const version = versions.get(engine);
    return version === undefined ? (known.get(title) ?? []) : rowOf(engine, version, cells);
  });
  const heads = COLUMNS.map(({ history, store }) => `${HEADS[history]}, ${store === 's3' ? 'S3' : store}`);
  const text = [
    `| engine | version | run on | ${heads.join(' | ')} |`,
    `|${'---|'.repeat(COLUMNS.length + 3)}`,
    ...[...rows, ''],
    ...FLAWS.map(({ engine, says }, n) => `${n + 1}. ${TITLES[engine]!.split(',')[0]}: ${says}`),
    '',
  ].join('\n');
  await writeFile(
    PAGE,
    page.replace(BLOCK, (_, begin, end) => `${begin}${text}${end}`),
  );
}

const COLUMNS = HISTORIES.flatMap((history) =>
  (['folder', 's3'] as const).map((store) => ({ history, store })),
);

function rowOf(engine: string, version: string, cells: readonly Cell[]): string {
  const texts = COLUMNS.map(({ history, store }) => {
    const those = cells.filter(
      (cell) => cell.engine === engine && cell.history === history && cell.store === store,
    );
    if (those.length === 0) return '–';
    const flaws = FLAWS.flatMap((flaw, n) =>
      those.some((cell) => cell.flaws.includes(flaw)) ? [n + 1] : [],
    );
    return flaws.length === 0 ? 'right' : `but [${flaws.join(', ')}]`;
  });
  const day = new Date().toISOString().slice(0, 10);
  return `| ${[TITLES[engine], version, day, ...texts].join(' | ')} |`;
}
