/**
 * A damage for every finding of verify, and what its advice says to do: the one list that shows that each finding is made,
 * found by its name and by nothing else, and put right. A new finding without a case does not compile.
 */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parquetMetadata } from 'hyparquet';
import { adviceFor, type FindingName } from '../../../src/audit/verify/findings.ts';
import {
  type Dataset,
  dateToMicros,
  type Layout,
  parseTimestamp,
  type Receipt,
  silentLog,
  systemClock,
  type VesselDay,
} from '../../../src/core/model/index.ts';
import { detailKey, objectKey, receiptKey } from '../../../src/lake/keys.ts';
import type { Detail } from '../../../src/lake/ledger/ledger.ts';
import { openTable } from '../../../src/lake/table/table.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { duckRows } from '../../helpers/lake.ts';
import type { TestService } from '../../helpers/run.ts';
import { isLong } from '../../helpers/tiers.ts';
import { edit, editDetail, editReceipt } from './audit-lake.ts';

/** A published vessel-day to be damaged: nobody else touches it, but its job's log, to which entries are added. */
export interface Victim {
  readonly dir: string;
  readonly day: VesselDay;
  readonly receipt: Receipt;
  readonly layout: Layout;
  readonly service: TestService;
}

/**
 * What an advice says to do. `run`, `force`: run the day again, with `--allow-shrink` too where that is refused and the
 * advice says so. `restore`: put the files back as they were. `reconcile`: let it repair what it finds. `again`: verify
 * again, when what was in the way is gone. `rebuild`: `rebuild-log --yes` of the job. `by hand`: what a person does, after
 * which nothing is run again.
 */
export type Advice =
  | ('run' | 'force' | 'restore' | 'reconcile' | 'rebuild' | 'again')
  | ('by hand' | 'by hand, then run' | 'by hand, then rebuild');

interface CaseOptions {
  /** Default: measurements. */
  readonly datasets?: readonly Dataset[];
  /** Default: both. */
  readonly layouts?: readonly Layout[];
  /** Of a day on which the vessel was silent. */
  readonly isEmptyDay?: boolean;
  /** Found by a deep verify only. */
  readonly isDeep?: boolean;
  /** A job of its own: its log is damaged. */
  readonly isOfLog?: boolean;
  /** Reading this key fails for as long as the damage lasts. */
  readonly unreadable?: (victim: Victim) => string;
}

interface FindingCases {
  readonly advice: readonly Advice[];
  /** For `by hand`. */
  readonly byHand?: (victim: Victim) => Promise<unknown>;
  readonly cases: readonly (readonly [
    what: string,
    act: (victim: Victim) => Promise<unknown>,
    options?: CaseOptions,
  ])[];
}

const ALL: readonly Dataset[] = ['measurements', 'statistics', 'metadata'];
const TIMED: readonly Dataset[] = ['measurements', 'statistics'];

export const put = async (dir: string, key: string, bytes: string | Uint8Array) => {
  await mkdir(dirname(join(dir, key)), { recursive: true });
  await writeFile(join(dir, key), bytes);
};
const keyOf = ({ day, receipt }: Victim) => receipt.object?.key ?? objectKey(day);
const inReceipt = (change: (receipt: Receipt, victim: Victim) => object) => (victim: Victim) =>
  editReceipt(victim.dir, victim.day, (receipt) => change(receipt, victim));
const inObject = (change: (bytes: Buffer, victim: Victim) => Uint8Array) => (victim: Victim) =>
  edit(victim.dir, keyOf(victim), (bytes) => change(bytes, victim));
const removeFile = (of: (victim: Victim) => string) => (victim: Victim) => rm(join(victim.dir, of(victim)));
const receiptOf = ({ day }: Victim) => receiptKey(day);
const detailOf = ({ day }: Victim) => detailKey(day);

const flip = (at: (length: number) => number) =>
  inObject((bytes) => {
    bytes[at(bytes.length)]! ^= 0x10;
    return bytes;
  });

/** Other bytes of the same length, which the receipt names as if they had been published. */
const forge = (change: (bytes: Buffer, victim: Victim) => void) => async (victim: Victim) => {
  await inObject((bytes) => {
    const before = hash('sha256', bytes);
    change(bytes, victim);
    if (hash('sha256', bytes) === before) throw new Error('nothing was forged');
    return bytes;
  })(victim);
  await adjustReceipt(victim);
};

/** The receipt names the object as it lies there. */
async function adjustReceipt(victim: Victim): Promise<void> {
  const bytes = await readFile(join(victim.dir, keyOf(victim)));
  const parts = [{ sizeBytes: bytes.length, sha256: hash('sha256', bytes) }];
  await inReceipt(({ object }) => ({ object: { ...object, sizeBytes: bytes.length, parts } }))(victim);
}

/** The detail says another thing, and the receipt names that detail. */
const inNamedDetail =
  (change: (detail: Detail) => Detail) =>
  ({ dir, day }: Victim) =>
    editDetail(dir, day, change, true);

/** In footer and statistics alike. */
function replaceMicros(bytes: Buffer, from: string, to: number): void {
  const micros = Buffer.alloc(8);
  micros.writeBigInt64LE(BigInt(parseTimestamp(from)!));
  for (let at = bytes.indexOf(micros); at >= 0; at = bytes.indexOf(micros, at + 8))
    bytes.writeBigInt64LE(BigInt(to), at);
}

const versionName = (version: number) => String(version).padStart(20, '0');
const logDir = ({ dir, day }: Victim) => join(dir, day.job, '_delta_log');

export async function newestEntry(
  victim: Victim,
): Promise<{ readonly path: string; readonly version: number }> {
  const names = (await readdir(logDir(victim))).filter((name) => name.endsWith('.json'));
  const newest = names.sort().at(-1)!;
  return { path: join(logDir(victim), newest), version: Number(newest.slice(0, -'.json'.length)) };
}

/** Somebody else commits to the table. */
async function commitBehind(victim: Victim, actions: readonly object[]): Promise<void> {
  const { version } = await newestEntry(victim);
  const name = `${versionName(version + 1)}.json`;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`).join('');
  await writeFile(join(logDir(victim), name), text);
}

const pathIn = ({ day, receipt }: Victim) => receipt.object!.key.slice(`${day.job}/`.length);
const removal = (victim: Victim) => ({
  remove: { path: pathIn(victim), deletionTimestamp: 1, dataChange: true },
});
const addition = ({ day }: Victim, path: string, size: number, stats?: string) => ({
  add: {
    ...{ path, size, modificationTime: 1, dataChange: true },
    partitionValues: { vessel: day.vessel, date: day.date },
    ...(stats !== undefined && { stats }),
  },
});
/** What the log says of the rows of the day's file. */
async function statisticsOf(victim: Victim): Promise<string> {
  for (const name of await readdir(logDir(victim)))
    for (const line of (await readFile(join(logDir(victim), name), 'utf8')).split('\n'))
      if (line.includes(pathIn(victim)) && line.startsWith('{"add"')) return JSON.parse(line).add.stats;
  throw new Error(`the log does not add ${pathIn(victim)}`);
}
/** What the newest entry that says what the table is says of it. */
async function metadataOf(victim: Victim): Promise<{ schemaString: string; format: { provider: string } }> {
  for (const name of (await readdir(logDir(victim))).sort().reverse())
    for (const line of (await readFile(join(logDir(victim), name), 'utf8')).split('\n'))
      if (line.startsWith('{"metaData"')) return JSON.parse(line).metaData;
  throw new Error('no entry says what the table is');
}
interface Schema {
  readonly fields: { name: string; type: string; nullable: boolean }[];
}
/** Somebody else says that the table has other columns. */
const inSchema = (change: (schema: Schema) => unknown) => async (victim: Victim) => {
  const metaData = await metadataOf(victim);
  const schema = JSON.parse(metaData.schemaString) as Schema;
  change(schema);
  const schemaString = JSON.stringify(schema);
  if (schemaString === metaData.schemaString) throw new Error('the schema is as it was');
  await commitBehind(victim, [{ metaData: { ...metaData, schemaString } }]);
};
const fieldOf = ({ fields }: Schema, name: string) => fields.find((field) => field.name === name)!;

/** Write a checkpoint of the table; the path of its file. */
async function checkpointOf(victim: Victim): Promise<string> {
  const { dir, day } = victim;
  const ports = { store: createLocalStore(dir), clock: systemClock, log: silentLog };
  const table = await openTable({ ...ports, prefix: `${day.job}/` });
  await table.checkpoint();
  return join(logDir(victim), `${versionName(table.version)}.checkpoint.parquet`);
}
const inCheckpoint = (change: (bytes: Buffer) => Uint8Array) => async (victim: Victim) => {
  const path = await checkpointOf(victim);
  await writeFile(path, change(await readFile(path)));
};
/** Statistics of the rows of files, in a checkpoint: they are read by those who ask for them alone. */
function breakStatistics(bytes: Buffer): Buffer {
  const { row_groups: groups } = parquetMetadata(Uint8Array.from(bytes).buffer);
  const columns = groups.at(-1)!.columns.map(({ meta_data: meta }) => meta!);
  const { data_page_offset: at } = columns.find(
    ({ path_in_schema: path }) => path.join('.') === 'add.stats',
  )!;
  return bytes.fill(0xff, Number(at), Number(at) + 40);
}

const NEWER_PROTOCOL = { protocol: { minReaderVersion: 3, minWriterVersion: 7 } };
const otherPath = (victim: Victim) => pathIn(victim).replace(/[^/]+$/, '0000000000000000.parquet');

async function readDetail({ dir, day }: Victim): Promise<Detail> {
  return JSON.parse(gunzipSync(await readFile(join(dir, detailKey(day)))).toString());
}

/** A series of the day with the time of its first reading, as the source said it: windows have only their own. */
async function seriesOf(victim: Victim): Promise<{ readonly id: string; readonly micros: number }> {
  const { source } = await readDetail(victim);
  const [id, hours] = Object.entries(source!).find(([, rows]) => rows.length > 0)!;
  return { id, micros: dateToMicros(victim.day.date) + hours[0]![2] };
}

const NOBODYS = 'PAR1PAR1';
const PLAIN: readonly Layout[] = ['plain'];
const DELTA: readonly Layout[] = ['delta'];
const OF_LOG = { layouts: DELTA, isOfLog: true };
const TABLE = { datasets: ALL, layouts: DELTA };
const removeLog = (victim: Victim) => rm(logDir(victim), { recursive: true });

/** What exporting the day again with --force puts right. */
const forced = (...cases: FindingCases['cases']): FindingCases => ({ advice: ['force'], cases });

export const DAMAGES: Readonly<Record<FindingName, FindingCases>> = {
  'receipt-damaged': {
    advice: ['by hand, then run', 'restore'],
    byHand: removeFile(receiptOf),
    cases: [
      [
        'a receipt that is cut',
        (victim) => edit(victim.dir, receiptOf(victim), (bytes) => bytes.subarray(0, -9)),
        { datasets: ALL },
      ],
      ['a receipt of an empty day', inReceipt(() => ({ source: null })), { isEmptyDay: true }],
      ['a receipt with another size', inReceipt(({ object }) => ({ object: { ...object, sizeBytes: 1 } }))],
    ],
  },
  'receipt-newer': {
    advice: ['by hand'],
    // It stands for the newer vessel-export, which can read it.
    byHand: inReceipt(() => ({ receiptVersion: 1 })),
    cases: [['a receipt of a newer version', inReceipt(() => ({ receiptVersion: 2 })), { datasets: ALL }]],
  },
  'receipt-missing': {
    advice: ['run'],
    cases: [
      ['a missing receipt', removeFile(receiptOf), { datasets: ALL }],
      ['a missing receipt of an empty day', removeFile(receiptOf), { datasets: TIMED, isEmptyDay: true }],
      [
        'an object of nobody in the place of a silent day',
        async (victim) => {
          for (const of of [receiptOf, detailOf]) await removeFile(of)(victim);
          await put(victim.dir, keyOf(victim), NOBODYS);
        },
        { isEmptyDay: true, layouts: PLAIN },
      ],
    ],
  },
  'object-missing': forced(['a missing object', removeFile(keyOf), { datasets: ALL }]),
  'object-unexpected': {
    advice: ['by hand', 'force'],
    byHand: removeFile(keyOf),
    cases: [
      [
        'an object in the place of an empty day',
        (victim) => put(victim.dir, keyOf(victim), NOBODYS),
        { datasets: TIMED, layouts: PLAIN, isEmptyDay: true },
      ],
    ],
  },
  'object-stray': {
    advice: ['by hand'],
    byHand: async (victim) => rename(join(victim.dir, copyOf(victim)), join(victim.dir, '_moved-away')),
    cases: [
      [
        "a copy beside the day's object, which readers would count twice",
        async (victim) => put(victim.dir, copyOf(victim), await readFile(join(victim.dir, keyOf(victim)))),
        { datasets: ALL, layouts: PLAIN },
      ],
    ],
  },
  'not-in-table': forced([
    'the table lost a day',
    (victim) => commitBehind(victim, [removal(victim)]),
    TABLE,
  ]),
  'table-file-missing': forced(
    [
      'the table has another file, which is not there',
      (victim) => commitBehind(victim, [removal(victim), addition(victim, otherPath(victim), 3)]),
      TABLE,
    ],
    [
      'the table has another file too, which is not there',
      (victim) => commitBehind(victim, [addition(victim, otherPath(victim), 3)]),
      { layouts: DELTA },
    ],
  ),
  'table-differs': forced(
    [
      'the table has a day twice',
      async (victim) => {
        await put(victim.dir, `${victim.day.job}/${otherPath(victim)}`, 'abc');
        await commitBehind(victim, [addition(victim, otherPath(victim), 3)]);
      },
      TABLE,
    ],
    [
      'the table says another size',
      (victim) => commitBehind(victim, [addition(victim, pathIn(victim), 3)]),
      TABLE,
    ],
    [
      'the table has a day that its receipt calls empty',
      inReceipt(({ source }) => ({
        ...{ rows: 0, series: 0, object: null, detail: null, firstTimestamp: null, lastTimestamp: null },
        source: { ...source!, rows: 0 },
      })),
      { layouts: DELTA },
    ],
  ),
  'table-statistics-differ': forced(
    [
      'the table counts other rows',
      (victim) =>
        commitBehind(victim, [
          addition(victim, pathIn(victim), victim.receipt.object!.sizeBytes, '{"numRecords":1}'),
        ]),
      TABLE,
    ],
    [
      'a bound of the table is too narrow',
      async (victim) => {
        const stats = await statisticsOf(victim);
        const narrow = stats.replace(/("maxValues".*?"timestamp":"[^.]*)\.\d+Z/, '$1.000Z');
        if (narrow === stats) throw new Error(`no bound in ${stats}`);
        const { sizeBytes } = victim.receipt.object!;
        await commitBehind(victim, [addition(victim, pathIn(victim), sizeBytes, narrow)]);
      },
      { layouts: DELTA },
    ],
    [
      'the table has no statistics of a file',
      (victim) => commitBehind(victim, [addition(victim, pathIn(victim), victim.receipt.object!.sizeBytes)]),
      { layouts: DELTA },
    ],
  ),
  'log-damaged': {
    advice: ['restore', 'rebuild'],
    cases: [
      ['a log that is lost', removeLog, OF_LOG],
      [
        'the newest entry is lost',
        async (victim) => rm((await newestEntry(victim)).path),
        { ...OF_LOG, datasets: ALL },
      ],
      [
        'an entry is cut short',
        async (victim) => {
          const { path } = await newestEntry(victim);
          await writeFile(path, (await readFile(path)).subarray(0, -9));
        },
        OF_LOG,
      ],
      ['an entry is missing', (victim) => rm(join(logDir(victim), `${versionName(0)}.json`)), OF_LOG],
      [
        'a schema that is no JSON',
        async (victim) => {
          const { schemaString } = await metadataOf(victim);
          const path = join(logDir(victim), `${versionName(0)}.json`);
          const text = await readFile(path, 'utf8');
          await writeFile(path, text.replace(JSON.stringify(schemaString), '"{"'));
        },
        OF_LOG,
      ],
    ],
  },
  'checkpoint-damaged': {
    advice: ['rebuild'],
    cases: [
      [
        'a checkpoint that is lost',
        async (victim) => rm(await checkpointOf(victim)),
        { ...OF_LOG, datasets: ALL },
      ],
      ['a checkpoint that is cut', inCheckpoint((bytes) => bytes.subarray(0, -50)), OF_LOG],
      ['a checkpoint whose statistics are broken', inCheckpoint(breakStatistics), OF_LOG],
      [
        'a name of the newest checkpoint that is no JSON',
        (victim) => writeFile(join(logDir(victim), '_last_checkpoint'), '{'),
        OF_LOG,
      ],
    ],
  },
  'table-schema-differs': {
    advice: ['rebuild'],
    cases: [
      [
        'a column of the table is renamed',
        inSchema((schema) => {
          fieldOf(schema, 'time_series_id').name = 'series';
        }),
        { ...OF_LOG, datasets: ALL },
      ],
      [
        'a column of the table has another type',
        inSchema((schema) => {
          fieldOf(schema, 'long_value').type = 'double';
        }),
        OF_LOG,
      ],
    ],
  },
  'table-unsupported': {
    advice: ['by hand, then rebuild'],
    byHand: removeLog,
    cases: [
      [
        'another writer has raised the protocol',
        (victim) => commitBehind(victim, [NEWER_PROTOCOL]),
        { ...OF_LOG, datasets: ALL },
      ],
      [
        'another writer has marked rows as deleted',
        (victim) => {
          const { add } = addition(victim, pathIn(victim), victim.receipt.object!.sizeBytes);
          const protocol = { ...NEWER_PROTOCOL.protocol, readerFeatures: ['deletionVectors'] };
          return commitBehind(victim, [
            { protocol },
            { add: { ...add, deletionVector: { storageType: 'u' } } },
          ]);
        },
        OF_LOG,
      ],
    ],
  },
  'size-differs': forced([
    'a truncated object',
    inObject((bytes) => bytes.subarray(0, -1)),
    { datasets: ALL },
  ]),
  'checksum-differs': forced(
    ['a flipped bit in the data', flip(() => 40), { datasets: ALL }],
    [
      'an object of another writer, of the same size',
      inObject((bytes) => {
        bytes.write('somebody-else', bytes.lastIndexOf('vessel-export'));
        return bytes;
      }),
    ],
    [
      'a receipt of other digests',
      inReceipt(({ object }) => ({ object: { ...object, parts: object!.parts.toReversed() } })),
    ],
  ),
  'footer-unreadable': forced(
    ['an object that is no Parquet', forge((bytes) => bytes.fill(0x41)), { datasets: ALL }],
    [
      'a footer whose length is a lie',
      forge((bytes) => bytes.writeUInt32LE(bytes.length * 2, bytes.length - 8)),
    ],
  ),
  'schema-differs': forced(
    [
      'a column of another name',
      forge((bytes) => bytes.write('time_series_xx', bytes.indexOf('time_series_id'))),
      { datasets: ALL },
    ],
    [
      'an object rewritten by another tool',
      async (victim) => {
        const path = join(victim.dir, keyOf(victim));
        await duckRows(`COPY (SELECT * FROM '${path}') TO '${path}.tmp' (FORMAT parquet)`);
        await rename(`${path}.tmp`, path);
        await adjustReceipt(victim);
      },
      { layouts: PLAIN },
    ],
  ),
  'rows-differ': forced(
    ['a receipt of fewer rows', inReceipt(({ rows }) => ({ rows: rows - 1 })), { datasets: TIMED }],
    [
      'a snapshot of more rows',
      inReceipt(({ rows, source }) => ({
        ...{ rows: rows + 1, series: rows + 1, source: { ...source, rows: rows + 1 } },
      })),
      { datasets: ['metadata'] },
    ],
    ['a receipt of other series', inReceipt(({ series }) => ({ series: series - 1 }))],
    [
      'a detail with another series in it',
      inNamedDetail((detail) => ({
        ...detail,
        ours: { ...detail.ours, more: [[3, 1, 3 * 3_600e6, 3 * 3_600e6]] },
      })),
    ],
  ),
  'times-differ': forced([
    'a receipt of other times',
    inReceipt(({ date }) => ({ lastTimestamp: `${date}T23:59:59.999999Z` })),
    { datasets: TIMED },
  ]),
  'outside-day': forced([
    'an object that says it has a row of the day before',
    forge((bytes, { receipt, day }) =>
      replaceMicros(bytes, receipt.firstTimestamp!, dateToMicros(day.date) - 1),
    ),
    { datasets: TIMED },
  ]),
  'detail-missing': forced(
    ['a missing detail', removeFile(detailOf), { datasets: TIMED }],
    ['a missing detail of an empty day', removeFile(detailOf), { datasets: TIMED, isEmptyDay: true }],
  ),
  'detail-differs': forced(
    ['a detail that is no gzip', (victim) => put(victim.dir, detailOf(victim), '{}'), { datasets: TIMED }],
    [
      'a detail that is no JSON, by its receipt',
      async (victim) => {
        const text = Buffer.from('no detail');
        await put(victim.dir, detailOf(victim), gzipSync(text));
        const sha256 = hash('sha256', text);
        await inReceipt(({ detail }) => ({ detail: { ...detail, sha256 } }))(victim);
      },
    ],
    [
      'an edited detail',
      ({ dir, day }) => editDetail(dir, day, ({ ours, source }) => ({ ours: source ?? ours, source: {} })),
    ],
  ),
  'proof-differs': forced(
    [
      'a detail without what the source counted, whose receipt was adjusted',
      inNamedDetail(({ ours }) => ({ ours, source: {} })),
      { datasets: TIMED },
    ],
    [
      'a detail without the counts that prove it, whose receipt was adjusted',
      inNamedDetail(({ ours }) => ({ ours, source: null })),
    ],
    [
      'a receipt of another count of the source',
      inReceipt(({ source }) => ({ source: { ...source, rows: source!.rows + 1 } })),
      { datasets: TIMED },
    ],
    [
      'a receipt of other totals of the source',
      inReceipt(({ source }) => ({ source: { ...source, totalsSha256: '0'.repeat(64) } })),
    ],
  ),
  'rows-unreadable': forced([
    'pages that cannot be decompressed',
    forge((bytes) => bytes.fill(0xff, 30, 120)),
    { datasets: ALL, isDeep: true },
  ]),
  'count-differs': forced([
    'a detail with a reading in another hour, whose receipt was adjusted',
    inNamedDetail((detail) => {
      // Not the first and not the last of its series: those stand in the totals.
      const move = (counts: Detail['ours']): Detail['ours'] => {
        const isFree = (rows: Detail['ours'][string]) =>
          rows[2] !== undefined && rows[1]![0] + 1 < rows[2][0];
        const [id, [first, [hour, count, from, to] = [], ...rest]] = Object.entries(counts).find(([, rows]) =>
          isFree(rows),
        )!;
        const hourMicros = 3_600_000_000;
        const moved = [hour! + 1, count!, from! + hourMicros, to! + hourMicros] as const;
        return { ...counts, [id]: [first!, moved, ...rest] };
      };
      return { ...detail, ours: move(detail.ours), source: move(detail.source!) };
    }),
    { datasets: TIMED, isDeep: true },
  ]),
  'values-differ': forced([
    'a reading that the source has corrected since',
    async (victim) => {
      const { id, micros } = await seriesOf(victim);
      victim.service.overlay.removeReadings(id, { fromMicros: micros, toMicros: micros + 1 });
      victim.service.overlay.addReadings(id, [{ timestampMicros: micros, valueText: '123456.5' }]);
    },
    { datasets: TIMED, isDeep: true },
  ]),
  'source-changed': {
    advice: ['force', 'reconcile'],
    cases: [
      [
        'a reading that came late',
        async (victim) => {
          const { id, micros } = await seriesOf(victim);
          victim.service.overlay.addReadings(id, [{ timestampMicros: micros + 1, valueText: '1.5' }]);
        },
        { datasets: TIMED, isDeep: true },
      ],
      [
        'a reading that the source has no more',
        async (victim) => {
          const { id, micros } = await seriesOf(victim);
          victim.service.overlay.removeReadings(id, { fromMicros: micros, toMicros: micros + 1 });
        },
        { datasets: TIMED, isDeep: true },
      ],
      [
        'a reading on a day that was empty',
        async (victim) => {
          const { series = {} } = await readDetail(victim);
          const timestampMicros = dateToMicros(victim.day.date) + 1;
          victim.service.overlay.addReadings(Object.keys(series)[0]!, [
            { timestampMicros, valueText: '1.5' },
          ]);
        },
        { datasets: TIMED, isDeep: true, isEmptyDay: true },
      ],
    ],
  },
  'not-verified': {
    advice: ['again'],
    cases: [['an object that cannot be read just now', async () => {}, { datasets: ALL, unreadable: keyOf }]],
  },
};

function copyOf(victim: Victim): string {
  return keyOf(victim).replace('/data.', '/copy.');
}

/** Snapshots of days that are over are restored; where the log is wrong, which is not theirs alone, it is rebuilt. */
function advicesOf(
  finding: FindingName,
  advice: readonly Advice[],
  dataset: Dataset,
  layout: Layout,
): readonly Advice[] {
  if (dataset !== 'metadata') return advice;
  const said = adviceFor(finding, dataset);
  const more: Advice[] = [
    ...(/restore its files/.test(said) ? (['restore'] as const) : []),
    ...(layout === 'delta' && /for an earlier one .*rebuild-log/.test(said) ? (['rebuild'] as const) : []),
  ];
  return [...new Set([...advice, ...more])];
}

/** One damage of one vessel-day, and one advice. */
export interface Trial extends CaseOptions {
  readonly what: string;
  readonly act: (victim: Victim) => Promise<unknown>;
  readonly finding: FindingName;
  readonly advice: Advice;
  readonly byHand: FindingCases['byHand'];
  readonly dataset: Dataset;
  readonly layout: Layout;
}

/**
 * Every finding × advice × damage × dataset × layout in the long tier. The suite tries what both layouts have alike with
 * every dataset in one of them: that measurements are no special case, and that a table is none, are apart.
 */
export const TRIALS: readonly Trial[] = Object.entries(DAMAGES).flatMap(
  ([finding, { advice, byHand, cases }]) =>
    cases.flatMap(([what, act, options = {}]) => {
      const { layouts, datasets = ['measurements'] } = options;
      const isTried = (layout: Layout, dataset: Dataset) =>
        isLong || layouts !== undefined || layout === 'plain' || dataset === datasets[0];
      return (layouts ?? (['plain', 'delta'] as const)).flatMap((layout) =>
        datasets
          .filter((dataset) => isTried(layout, dataset))
          .flatMap((dataset) =>
            advicesOf(finding as FindingName, advice, dataset, layout).map((each) => ({
              ...{ ...options, what, act, byHand, dataset, layout },
              ...{ finding: finding as FindingName, advice: each },
            })),
          ),
      );
    }),
);
