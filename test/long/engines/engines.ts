/** The engines, where they are installed, and what each is known to read wrongly. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LAYOUTS } from '../../../src/core/model/index.ts';
import { clickHouseForTests } from '../../helpers/clickhouse.ts';
import { clickHouseReader } from './clickhouse.ts';
import type { Finding } from './judge.ts';
import { HISTORIES, type History } from './lakes.ts';
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
  readonly layouts: readonly ('plain' | 'delta')[];
  /** It is asked fewer questions. */
  readonly isSlow: boolean;
  /** `dir`: a folder for what it leaves. */
  open(dir: string): Reader | Promise<Reader>;
}

const inPython = (name: string, part = 'readers', layouts: Engine['layouts'] = LAYOUTS): Engine => ({
  ...{ name, layouts, isSlow: false },
  open: () => openReader(pythonOf(part), ['readers.py', name]),
});

function pythonOf(part: string): string {
  const { folder, missing } = installedPart(part);
  if (missing !== undefined) throw new Error(missing);
  return join(folder, 'bin/python');
}

/** Those of the tests. */
export const READERS: readonly Engine[] = [
  inPython('delta-rs', 'readers', ['delta']),
  ...['polars', 'duckdb', 'pyarrow'].map((name) => inPython(name)),
];

export const ALL_ENGINES: readonly Engine[] = [
  ...READERS,
  inPython('datafusion', 'more'),
  inPython('daft', 'more'),
  {
    ...{ name: 'clickhouse', layouts: LAYOUTS, isSlow: false },
    open: () => {
      const open = clickHouseForTests();
      if (open === undefined) throw new Error('no embedded ClickHouse (bash .ci/install-chdb)');
      return clickHouseReader(open());
    },
  },
  {
    ...{ name: 'spark', layouts: LAYOUTS, isSlow: true },
    open: (dir) =>
      openReader(pythonOf('more'), ['spark.py'], {
        SPARK_JARS: join(installedPart('more').folder, 'jars'),
        SPARK_SCRATCH: dir,
        SPARK_LOCAL_IP: '127.0.0.1',
      }),
  },
];

/** What an engine reads wrongly, as seen here: its makers' to correct. */
export interface Flaw {
  readonly engine: string;
  readonly histories: readonly History[];
  /** Of questions, as judge names them. */
  readonly asked: RegExp;
  /** Of what it says instead, where that tells. */
  readonly said?: RegExp;
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
  {
    ...{ engine: 'daft', histories: HISTORIES },
    asked: /: double_value (=|>=) 0$/,
    says: 'It takes -0.0 for less than 0.0, so that `= 0` misses it.',
  },
  {
    ...{ engine: 'daft', histories: HISTORIES },
    asked: /^windows: max > 0$/,
    says: 'A condition on a column that came later (a new aggregation) is met by every row of the files before, where nothing but `vessel` and `date` is read besides. Read another column too.',
  },
  {
    ...{ engine: 'daft', histories: ['plain'], asked: /^windows: every cell of every row$/ },
    says: 'Of plain files it has the columns of the first one only. Use a table.',
  },
  {
    ...{
      engine: 'datafusion',
      histories: TABLES,
      asked: /./,
      said: /No suitable object store found for s3:/,
    },
    says: "A table in a bucket, as `deltalake` hands it over, does not find the store. Use `deltalake`'s own `QueryBuilder`, which is DataFusion too.",
  },
];

export const questionOf = ({ job, asked }: Finding) => `${job}: ${asked}`;

/** The flaw that explains a finding. */
export function flawOf(engine: string, history: History, finding: Finding): Flaw | undefined {
  return FLAWS.find(
    (flaw) =>
      flaw.engine === engine &&
      flaw.histories.includes(history) &&
      flaw.asked.test(questionOf(finding)) &&
      (flaw.said?.test(finding.said) ?? true),
  );
}
