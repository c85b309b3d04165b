/** The engines, where they are installed, and what each is known to read wrongly. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from './judge.ts';
import type { History } from './lakes.ts';
import { openReader, type Reader } from './reader.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPT = '.ci/install-engines';

/** A part that the script installs: its folder, or why it is not there. */
export function installedPart(part: string): {
  readonly folder: string;
  readonly missing: string | undefined;
} {
  const version = new RegExp(`^${part}_version=(\\S+)$`, 'm').exec(
    readFileSync(join(ROOT, SCRIPT), 'utf8'),
  )?.[1];
  const { ENGINES_DIR, XDG_CACHE_HOME } = process.env;
  const root = ENGINES_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export');
  const folder = join(root, `engines-${part}-${version}`);
  const isThere = existsSync(join(folder, 'installed'));
  return { folder, missing: isThere ? undefined : `nothing in ${folder} (bash ${SCRIPT} ${part})` };
}

export interface Engine {
  readonly name: string;
  readonly part: string;
  readonly layouts: readonly ('plain' | 'delta')[];
  /** Delta tables as they were. */
  readonly hasVersions: boolean;
  open(): Reader;
}

const inPython = (name: string, part: string, script: string, layouts: Engine['layouts']): Engine => ({
  ...{ name, part, layouts, hasVersions: true },
  open: () => openReader(join(installedPart(part).folder, 'bin/python'), [script, name]),
});

/** Those of the tests. */
export const READERS: readonly Engine[] = [
  inPython('delta-rs', 'readers', 'readers.py', ['delta']),
  inPython('polars', 'readers', 'readers.py', ['plain', 'delta']),
  inPython('duckdb', 'readers', 'readers.py', ['plain', 'delta']),
  inPython('pyarrow', 'readers', 'readers.py', ['plain', 'delta']),
];

/** What an engine reads wrongly, as seen here: its makers' to correct. */
export interface Flaw {
  readonly engine: string;
  readonly histories: readonly History[];
  /** Of questions, as judge names them. */
  readonly asked: RegExp;
  /** A sentence for the docs. */
  readonly says: string;
}

const TABLES = ['delta', 'tidied', 'converted'] as const;
export const FLAWS: readonly Flaw[] = [
  {
    ...{ engine: 'polars', histories: ['plain'] },
    asked: /^windows: (every cell of every row|max > 0)$/,
    says: 'Of plain files it has the columns of the first one only. Name the columns of all (`schema=`), or use a table.',
  },
  {
    ...{ engine: 'pyarrow', histories: TABLES },
    asked: /^measurements: json_value = |^infinite: double_value /,
    says: '`DeltaTable.to_pyarrow_dataset()` finds no row by a column that has no bounds in the log (`id`, `json_value`, columns with NaN): it compares with bounds of null. Filter the rows after reading, or by delta-rs itself (`QueryBuilder`) or Polars.',
  },
];

export const questionOf = ({ job, asked }: Finding) => `${job}: ${asked}`;

/** The flaw that explains a finding. */
export function flawOf(engine: string, history: History, finding: Finding): Flaw | undefined {
  return FLAWS.find(
    (flaw) =>
      flaw.engine === engine && flaw.histories.includes(history) && flaw.asked.test(questionOf(finding)),
  );
}
