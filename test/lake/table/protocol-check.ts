/**
 * The rules of the Delta protocol (delta-io/delta, PROTOCOL.md) for what we write, held against a table in a folder: by the
 * files alone, with nothing of src. Entries one by one, their reconciliation, checkpoints against it, and data files
 * against what the log says of them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { z } from 'zod';
import { duckRows } from '../../helpers/lake.ts';

// biome-ignore lint/suspicious/noExplicitAny: whatever JSON says.
type Json = any;
/** A rule, whether it is kept, and what shows that it is not. */
type Check = (rule: string, isKept: boolean, detail?: unknown) => void;

const ENTRY = /^(\d{20})\.json$/;
const CHECKPOINT = /^(\d{20})\.checkpoint\.parquet$/;
const MIN_KEPT_MS = 7 * 86_400_000;

const text = z.string();
const textMap = z.record(text, text.nullable());
const FILE = {
  // Relative, and below the table.
  path: text.regex(/^(?![/\\]|\w+:|.*\.\.)[\w%=./-]+$/),
  partitionValues: z.strictObject({ vessel: text, date: text.regex(/^\d{4}-\d\d-\d\d$/) }),
  size: z.int(),
};
const REMOVED = { path: FILE.path, deletionTimestamp: z.int(), dataChange: z.boolean() };
/** What an action of each kind is. */
const ACTIONS: Readonly<Record<string, z.ZodType>> = {
  commitInfo: z.looseObject({ timestamp: z.int(), operation: text, operationParameters: z.looseObject({}) }),
  protocol: z.strictObject({ minReaderVersion: z.literal(1), minWriterVersion: z.literal(2) }),
  metaData: z.strictObject({
    ...{ id: z.guid(), name: text.optional(), description: text.optional(), schemaString: text },
    format: z.strictObject({ provider: z.literal('parquet'), options: textMap }),
    partitionColumns: z.tuple([z.literal('vessel'), z.literal('date')]),
    ...{ configuration: textMap, createdTime: z.int().optional() },
  }),
  add: z.strictObject({
    ...{ ...FILE, modificationTime: z.int().nonnegative(), dataChange: z.boolean() },
    ...{ stats: text, tags: textMap.optional() },
  }),
  remove: z.union([
    z.strictObject({ ...REMOVED, ...FILE, extendedFileMetadata: z.literal(true) }),
    z.strictObject(REMOVED),
  ]),
  txn: z.strictObject({ appId: text, version: z.int(), lastUpdated: z.int().optional() }),
};
const SCHEMA = z.strictObject({
  type: z.literal('struct'),
  fields: z.array(
    z.strictObject({
      ...{ name: text, type: z.enum(['string', 'long', 'double', 'timestamp', 'date']) },
      ...{ nullable: z.literal(true), metadata: z.looseObject({}) },
    }),
  ),
});

/** How much was looked at, and each rule that is broken, with the first place. */
export async function checkProtocol(table: string) {
  const faults = new Map<string, string>();
  let checks = 0;
  const check: Check = (rule, isKept, detail = '') => {
    checks++;
    if (!isKept && !faults.has(rule))
      faults.set(rule, `${rule}: ${typeof detail === 'string' ? detail : JSON.stringify(detail)}`);
  };
  const log = join(table, '_delta_log');
  const names = readdirSync(log).sort();
  const isKnown = (name: string) => ENTRY.test(name) || CHECKPOINT.test(name) || name === '_last_checkpoint';
  check('log: known names', names.every(isKnown), names);
  const versionsOf = (pattern: RegExp) =>
    names.filter((name) => pattern.test(name)).map((name) => Number(name.slice(0, 20)));
  const [versions, checkpoints] = [versionsOf(ENTRY), versionsOf(CHECKPOINT)];
  // Where it begins anew the checkpoint says all, and what lies below is not looked at.
  const begin = beginOf(versions, checkpoints);
  const isWhole = begin === 0 || checkpoints.includes(begin);
  check('log: without a gap from version 0 or a checkpoint on', isWhole, versions);
  const state = new State(check, table);
  for (let version = begin; version <= versions.at(-1)!; version++) {
    const isBegin = version === begin && version > 0;
    const entry = readEntry(join(log, `${nameOf(version)}.json`), check);
    if (!isBegin) state.apply(entry, version);
    if (!checkpoints.includes(version)) continue;
    const path = join(log, `${nameOf(version)}.checkpoint.parquet`);
    const rows = await readCheckpoint(path, check);
    if (isBegin) for (const row of rows) state.take(row);
    else state.compare(rows);
    if (version === checkpoints.at(-1)) checkLast(log, version, rows, path, check);
  }
  await checkFiles(table, state, check);
  return { checks, faults: [...faults.values()] };
}

const nameOf = (version: number) => String(version).padStart(20, '0');

/** The version from which on none is missing. */
function beginOf(versions: readonly number[], checkpoints: readonly number[]): number {
  let begin = versions.at(-1)!;
  while (versions.includes(begin - 1)) begin--;
  return begin === 0 ? 0 : (checkpoints.find((version) => version >= begin) ?? begin);
}

/** What is wrong with the shape of something is named by where. */
function checkShape(shape: z.ZodType, value: unknown, name: string, check: Check): void {
  const { error } = shape.safeParse(value);
  check(name, error === undefined);
  for (const { path, message } of error?.issues ?? []) check([name, ...path].join('.'), false, message);
}

function readEntry(path: string, check: Check): Json[] {
  const lines = readFileSync(path, 'utf8');
  check('entry: lines end', lines.endsWith('\n'), path);
  const actions: Json[] = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const of = (kind: string) => actions.filter((action) => action[kind]).map((action) => action[kind]);
  for (const action of actions) {
    const [[kind, body], ...others] = Object.entries(action) as [[string, unknown]];
    check('entry: one action a line', others.length === 0 && kind in ACTIONS, path);
    checkShape(ACTIONS[kind] ?? z.unknown(), body, kind, check);
  }
  check('entry: commitInfo first, and one', of('commitInfo').length === 1 && actions[0].commitInfo, path);
  for (const kind of ['protocol', 'metaData'])
    check(`entry: at most one ${kind}`, of(kind).length <= 1, path);
  const paths = [...of('add'), ...of('remove')].map((file) => file.path);
  check('entry: no path twice', new Set(paths).size === paths.length, paths);
  return actions;
}

/** The table as replayed. */
class State {
  readonly files = new Map<string, Json>();
  readonly tombstones = new Map<string, Json>();
  readonly transactions = new Map<string, Json>();
  protocol: Json;
  metaData: Json;
  readonly #check: Check;
  readonly #table: string;

  constructor(check: Check, table: string) {
    this.#check = check;
    this.#table = table;
  }

  apply(actions: readonly Json[], version: number): void {
    const check = this.#check;
    if (version === 0)
      for (const kind of ['protocol', 'metaData'])
        check(
          `version 0 has ${kind}`,
          actions.some((action) => action[kind]),
        );
    for (const { metaData } of actions) if (metaData) this.#checkMetadata(metaData);
    for (const action of actions) {
      const { add, remove } = action;
      if (remove) check('remove: of a file that is there', this.files.has(remove.path), remove.path);
      if (remove?.size !== undefined) this.#checkFile('remove', remove);
      if (add) {
        check('add: of a path that is not there', !this.files.has(add.path), add.path);
        this.#checkFile('add', add);
        this.#checkStatistics(add);
      }
      this.take(action);
    }
  }

  take({ add, remove, txn, protocol, metaData }: Json): void {
    if (protocol) this.protocol = protocol;
    if (metaData) this.metaData = metaData;
    if (txn) this.transactions.set(txn.appId, txn);
    if (add) {
      this.files.set(add.path, add);
      this.tombstones.delete(add.path);
    }
    if (!remove) return;
    this.files.delete(remove.path);
    this.tombstones.set(remove.path, remove);
  }

  /** A checkpoint of the version that was replayed. */
  compare(rows: readonly Json[]): void {
    const check = this.#check;
    const of = (kind: string): Json[] => rows.filter((row) => row[kind]).map((row) => row[kind]);
    const expectSame = (rule: string, a: Json, b: Json) =>
      check(`checkpoint: ${rule}`, JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)), [a, b]);
    expectSame('the protocol', of('protocol'), [this.protocol]);
    expectSame('the metaData', of('metaData'), [this.metaData]);
    expectSame('every txn', of('txn'), [...this.transactions.values()]);
    const adds = of('add');
    expectSame('every file, once', adds.map(({ path }) => path).sort(), [...this.files.keys()].sort());
    for (const add of adds)
      expectSame('what the entry says of a file', add, { ...this.files.get(add.path), dataChange: false });
    const removes = new Map<string, Json>(of('remove').map((remove) => [remove.path, remove]));
    for (const [path, { dataChange }] of removes)
      check('checkpoint: no other tombstone', this.tombstones.has(path) && dataChange === false, path);
    const keptMs = Date.now() - MIN_KEPT_MS;
    for (const [path, { deletionTimestamp }] of this.tombstones)
      check('checkpoint: every young tombstone', removes.has(path) || deletionTimestamp < keptMs, path);
  }

  #checkMetadata(metaData: Json): void {
    const check = this.#check;
    const before = this.metaData;
    check('metaData: its id stays', [undefined, metaData.id].includes(before?.id), metaData.id);
    checkShape(SCHEMA, JSON.parse(metaData.schemaString), 'schema', check);
    const names = fieldsOf(metaData).map(({ name }) => name);
    const known = fieldsOf(before).map(({ name }) => name);
    check(
      'schema: columns keep their place',
      known.every((name, i) => names[i] === name),
      [known, names],
    );
    const distinct = new Set(names.map((name) => name.toLowerCase()));
    check('schema: names differ without case', distinct.size === names.length, names);
    const isColumn = (name: string) => names.includes(name);
    check('metaData: partitions are columns', metaData.partitionColumns.every(isColumn), names);
  }

  #checkFile(kind: string, { path: encoded, partitionValues, size }: Json): void {
    const path = decodeURIComponent(encoded);
    const folder = `vessel=${partitionValues.vessel}/date=${partitionValues.date}/`;
    this.#check(`${kind}: partition and path`, path.startsWith(folder), path);
    const whole = join(this.#table, path);
    // gc may have removed what left the table.
    if (kind === 'add' || existsSync(whole))
      this.#check(`${kind}: size`, existsSync(whole) && statSync(whole).size === size, path);
  }

  #checkStatistics({ path, stats }: Json): void {
    const columns = fieldsOf(this.metaData).map(({ name }) => name);
    const { numRecords, minValues = {}, maxValues = {}, nullCount = {} } = JSON.parse(stats ?? '{}');
    this.#check('stats: numRecords', Number.isSafeInteger(numRecords), path);
    for (const name of [minValues, maxValues, nullCount].flatMap(Object.keys)) {
      const isOfFile = columns.includes(name) && !this.metaData.partitionColumns.includes(name);
      this.#check('stats: of columns that are no partitions', isOfFile, name);
    }
    const [low, high] = [minValues, maxValues].map((values) => Object.keys(values).join());
    this.#check('stats: bounds come in pairs', low === high, stats);
  }
}

const fieldsOf = (metaData: Json): { name: string; type: string }[] =>
  metaData === undefined ? [] : JSON.parse(metaData.schemaString).fields;

/** With its members in order, and without those that are null: JSON and Parquet say absence differently. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]),
  );
}

/** What the protocol has for a checkpoint of a table 1/2. */
const CHECKPOINT_COLUMNS = [
  ...['txn.appId BYTE_ARRAY', 'txn.version INT64', 'txn.lastUpdated INT64'],
  ...[
    'add.path BYTE_ARRAY',
    'add.partitionValues.key_value.key BYTE_ARRAY',
    'add.partitionValues.key_value.value BYTE_ARRAY',
  ],
  ...['add.size INT64', 'add.modificationTime INT64', 'add.dataChange BOOLEAN', 'add.stats BYTE_ARRAY'],
  ...['add.tags.key_value.key BYTE_ARRAY', 'add.tags.key_value.value BYTE_ARRAY'],
  ...['remove.path BYTE_ARRAY', 'remove.deletionTimestamp INT64', 'remove.dataChange BOOLEAN'],
  ...['remove.extendedFileMetadata BOOLEAN', 'remove.partitionValues.key_value.key BYTE_ARRAY'],
  ...['remove.partitionValues.key_value.value BYTE_ARRAY', 'remove.size INT64'],
  ...['metaData.id BYTE_ARRAY', 'metaData.name BYTE_ARRAY', 'metaData.description BYTE_ARRAY'],
  ...['metaData.format.provider BYTE_ARRAY', 'metaData.format.options.key_value.key BYTE_ARRAY'],
  ...['metaData.format.options.key_value.value BYTE_ARRAY', 'metaData.schemaString BYTE_ARRAY'],
  ...['metaData.partitionColumns.list.element BYTE_ARRAY', 'metaData.configuration.key_value.key BYTE_ARRAY'],
  ...['metaData.configuration.key_value.value BYTE_ARRAY', 'metaData.createdTime INT64'],
  ...['protocol.minReaderVersion INT32', 'protocol.minWriterVersion INT32'],
];

async function readCheckpoint(path: string, check: Check): Promise<Json[]> {
  const bytes = readFileSync(path);
  const file = Uint8Array.from(bytes).buffer;
  const { schema } = parquetMetadata(file);
  const columns = leavesOf(schema);
  for (const column of columns)
    check('checkpoint: no column but those of the protocol', CHECKPOINT_COLUMNS.includes(column), column);
  for (const column of CHECKPOINT_COLUMNS)
    check('checkpoint: every column of the protocol', columns.includes(column), column);
  const compressors = { ZSTD: (compressed: Uint8Array) => zstdDecompressSync(compressed) };
  const rows = (await parquetReadObjects({ file, compressors })) as Json[];
  return rows.map((row) => {
    const kinds = Object.keys(row).filter((kind) => row[kind] !== null && row[kind] !== undefined);
    check('checkpoint: one action a row', kinds.length === 1, kinds);
    return sorted({ [kinds[0]!]: row[kinds[0]!] });
  });
}

/** The columns of a footer by their paths. */
function leavesOf(schema: readonly SchemaElement[]): string[] {
  let at = 0;
  const walk = (path: readonly string[]): string[] => {
    const element = schema[at++]!;
    const own = at === 1 ? [] : [...path, element.name];
    if (element.num_children === undefined) return [`${own.join('.')} ${element.type}`];
    return Array.from({ length: element.num_children }, () => walk(own)).flat();
  };
  return walk([]);
}

function checkLast(log: string, version: number, rows: readonly Json[], path: string, check: Check): void {
  const last = JSON.parse(readFileSync(join(log, '_last_checkpoint'), 'utf8'));
  const numOfAddFiles = rows.filter((row) => row.add).length;
  const expected = { version, size: rows.length, sizeInBytes: statSync(path).size, numOfAddFiles };
  check('_last_checkpoint', JSON.stringify(sorted(last)) === JSON.stringify(sorted(expected)), last);
}

const PHYSICAL: Readonly<Record<string, string>> = {
  ...{ string: 'BYTE_ARRAY STRING', long: 'INT64 ', double: 'DOUBLE ' },
  timestamp: 'INT64 TIMESTAMP MICROS true',
};

/** Integers beyond 2^53 as they stand there. */
function parseExactly(text: string): Json {
  const parse = JSON.parse as (text: string, revive: (key: string, value: Json, at: Json) => Json) => Json;
  const isLarge = (value: Json, { source }: Json) =>
    typeof value === 'number' && /^-?\d+$/.test(source) && !Number.isSafeInteger(value);
  return parse(text, (_, value, at) => (isLarge(value, at) ? BigInt(at.source) : value));
}

/** Columns of the files, and their statistics against the rows, by DuckDB. */
async function checkFiles(table: string, { files, metaData }: State, check: Check): Promise<void> {
  const types = new Map(fieldsOf(metaData).map(({ name, type }) => [name, type]));
  for (const { path, stats } of files.values()) {
    const place = join(table, decodeURIComponent(path));
    const { schema } = parquetMetadata(Uint8Array.from(readFileSync(place)).buffer);
    const names = schema.slice(1).map(({ name }) => name);
    for (const { name, type, logical_type: logical } of schema.slice(1)) {
      const time = logical?.type === 'TIMESTAMP' ? ` ${logical.unit} ${logical.isAdjustedToUTC}` : '';
      const found = `${type} ${logical?.type ?? ''}${time}`;
      const isOfSchema = PHYSICAL[types.get(name) ?? ''] === found;
      check('file: columns are those of the schema', isOfSchema, `${name} ${found}`);
      check('file: no partition column', !metaData.partitionColumns.includes(name), name);
    }
    const { numRecords, minValues, maxValues, nullCount } = parseExactly(stats);
    const bounds = names.map((name) => `count(*) - count("${name}"), min("${name}"), max("${name}")`);
    const from = `read_parquet('${place.replaceAll("'", "''")}', hive_partitioning = false)`;
    // Inside DuckDB: a timestamp has microseconds, and a double all of its digits.
    const within = (name: string) => {
      if (minValues[name] === undefined) return 'true';
      const cast = { timestamp: 'TIMESTAMPTZ', long: 'BIGINT', double: 'DOUBLE' }[types.get(name)!] ?? 'BLOB';
      const bound = (value: Json) =>
        cast === 'BLOB' ? `encode('${String(value).replaceAll("'", "''")}')` : `'${value}'::${cast}`;
      const column = cast === 'BLOB' ? `encode("${name}")` : `"${name}"`;
      return `count(*) FILTER (${column} < ${bound(minValues[name])} OR ${column} > ${bound(maxValues[name])}) = 0`;
    };
    const [row] = await duckRows(
      `SELECT count(*), ${bounds.join()}, ${names.map(within).join()} FROM ${from}`,
    );
    const values = row as Json[];
    check('stats: numRecords is their number', Number(values[0]) === numRecords, path);
    for (const [i, name] of names.entries()) {
      const [nulls, min] = values.slice(1 + 3 * i);
      const place = `${path} ${name}`;
      check('stats: nullCount is exact', [undefined, Number(nulls)].includes(nullCount[name]), place);
      check('stats: no bounds of nothing', min !== null || minValues[name] === undefined, place);
      check('stats: every value is within the bounds', values[1 + 3 * names.length + i] === true, place);
    }
  }
}
