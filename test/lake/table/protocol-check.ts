/**
 * The rules of the Delta protocol (delta-io/delta, PROTOCOL.md) for what we write, held against a table in a folder: by the
 * files alone, with nothing of src. Entries one by one, their reconciliation, checkpoints against it, and data files
 * against what the log says of them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { duckRows } from '../../helpers/lake.ts';

// biome-ignore lint/suspicious/noExplicitAny: whatever JSON says.
type Json = any;
type Check = (rule: string, isKept: boolean, detail?: unknown) => void;

export interface CheckedProtocol {
  readonly checks: number;
  /** Each rule that is broken, with the first place. */
  readonly faults: readonly string[];
}

const ENTRY = /^(\d{20})\.json$/;
const CHECKPOINT = /^(\d{20})\.checkpoint\.parquet$/;
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TYPES = ['string', 'long', 'double', 'timestamp', 'date'];
const MIN_KEPT_MS = 7 * 86_400_000;

export async function checkProtocol(table: string): Promise<CheckedProtocol> {
  const faults = new Map<string, string>();
  let checks = 0;
  const check: Check = (rule, isKept, detail = '') => {
    checks++;
    if (!isKept && !faults.has(rule))
      faults.set(rule, `${rule}: ${typeof detail === 'string' ? detail : JSON.stringify(detail)}`);
  };
  const log = join(table, '_delta_log');
  const names = readdirSync(log).sort();
  const versionsOf = (pattern: RegExp) =>
    names.flatMap((name) => (pattern.exec(name) ? [Number(name.slice(0, 20))] : []));
  const [versions, checkpoints] = [versionsOf(ENTRY), versionsOf(CHECKPOINT)];
  check(
    'log: known names',
    names.every((name) => ENTRY.test(name) || CHECKPOINT.test(name) || name === '_last_checkpoint'),
    names,
  );
  // Where it begins anew the checkpoint says all, and what lies below is not looked at.
  const begin = beginOf(versions, checkpoints);
  check(
    'log: without a gap from version 0 or a checkpoint on',
    begin === 0 || checkpoints.includes(begin),
    versions,
  );
  const state = new State(check, table);
  for (let version = begin; version <= versions.at(-1)!; version++) {
    const isBegin = version === begin && version > 0;
    const entry = readEntry(join(log, `${nameOf(version)}.json`), check);
    if (!isBegin) state.apply(entry, version);
    if (!checkpoints.includes(version)) continue;
    const path = join(log, `${nameOf(version)}.checkpoint.parquet`);
    const rows = await readCheckpoint(path, check);
    if (isBegin) state.begin(rows);
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

function readEntry(path: string, check: Check): Json[] {
  const text = readFileSync(path, 'utf8');
  check('entry: lines end', text.endsWith('\n'), path);
  const actions = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const of = (kind: string) => actions.filter((action) => action[kind]).map((action) => action[kind]);
  check(
    'entry: one action a line',
    actions.every((action) => Object.keys(action).length === 1),
    path,
  );
  check('entry: commitInfo first, and one', of('commitInfo').length === 1 && actions[0].commitInfo, path);
  for (const kind of ['protocol', 'metaData'])
    check(`entry: at most one ${kind}`, of(kind).length <= 1, path);
  for (const kind of ['add', 'remove']) {
    const paths = of(kind).map((file) => file.path);
    check(`entry: no path twice among ${kind}`, new Set(paths).size === paths.length, path);
  }
  const removed = new Set(of('remove').map((file) => file.path));
  check('entry: no path added and removed', !of('add').some((file) => removed.has(file.path)), path);
  for (const { timestamp, operation, operationParameters } of of('commitInfo')) {
    check('commitInfo: timestamp', Number.isSafeInteger(timestamp), path);
    check(
      'commitInfo: operation',
      typeof operation === 'string' && typeof operationParameters === 'object',
      path,
    );
  }
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

  begin(rows: readonly Json[]): void {
    for (const row of rows) this.#take(row);
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
    for (const { protocol } of actions) if (protocol) checkProtocolAction(protocol, check);
    for (const action of actions) {
      const { add, remove, txn } = action;
      if (remove) {
        check('remove: of a file that is there', this.files.has(remove.path), remove.path);
        check('remove: deletionTimestamp', Number.isSafeInteger(remove.deletionTimestamp), remove);
        if (remove.extendedFileMetadata) this.#checkFile('remove', remove);
      }
      if (add) {
        check(
          'add: modificationTime',
          Number.isSafeInteger(add.modificationTime) && add.modificationTime >= 0,
          add,
        );
        check('add: of a path that is not there', !this.files.has(add.path), add.path);
        check('add: tags are a map of texts', isTextMap(add.tags ?? {}), add);
        this.#checkFile('add', add);
        this.#checkStatistics(add);
      }
      if (txn)
        check(
          'txn: appId and version',
          typeof txn.appId === 'string' && Number.isSafeInteger(txn.version),
          txn,
        );
      this.#take(action);
    }
  }

  #take({ add, remove, txn, protocol, metaData }: Json): void {
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
    const of = (kind: string) => rows.filter((row) => row[kind]).map((row) => row[kind]);
    const isSame = (a: Json, b: Json) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
    check(
      'checkpoint: the protocol',
      of('protocol').length === 1 && isSame(of('protocol')[0], this.protocol),
      of('protocol'),
    );
    check(
      'checkpoint: the metaData',
      of('metaData').length === 1 && isSame(of('metaData')[0], this.metaData),
      of('metaData'),
    );
    check('checkpoint: every txn', isSame(of('txn'), [...this.transactions.values()]), of('txn'));
    const adds = of('add');
    check(
      'checkpoint: every file, once',
      isSame(adds.map(({ path }) => path).sort(), [...this.files.keys()].sort()),
    );
    for (const add of adds) {
      const file = this.files.get(add.path);
      check('checkpoint: what the entry says of a file', isSame(add, { ...file, dataChange: false }), [
        add,
        file,
      ]);
    }
    const removes = new Map<string, Json>(of('remove').map((remove) => [remove.path, remove]));
    for (const [path, remove] of removes)
      check(
        'checkpoint: no other tombstone',
        this.tombstones.has(path) && remove.dataChange === false,
        remove,
      );
    const keptMs = Date.now() - MIN_KEPT_MS;
    for (const [path, { deletionTimestamp }] of this.tombstones)
      check('checkpoint: every young tombstone', removes.has(path) || deletionTimestamp < keptMs, path);
  }

  #checkMetadata(metaData: Json): void {
    const check = this.#check;
    const { id, format, schemaString, partitionColumns, configuration, createdTime } = metaData;
    check(
      'metaData: id is a GUID that stays',
      GUID.test(id) && [undefined, id].includes(this.metaData?.id),
      id,
    );
    check('metaData: format', format?.provider === 'parquet' && isTextMap(format.options), format);
    check('metaData: configuration is a map of texts', isTextMap(configuration), configuration);
    check(
      'metaData: createdTime',
      createdTime === undefined || Number.isSafeInteger(createdTime),
      createdTime,
    );
    const { type, fields } = JSON.parse(schemaString);
    const names: string[] = fields.map(({ name }: Json) => name);
    check('schema: struct', type === 'struct', type);
    check(
      'schema: names differ without case',
      new Set(names.map((name) => name.toLowerCase())).size === names.length,
      names,
    );
    for (const field of fields)
      check(
        'schema: fields are whole',
        TYPES.includes(field.type) && field.nullable === true && typeof field.metadata === 'object',
        field,
      );
    const before = fieldsOf(this.metaData).map(({ name }) => name);
    check('schema: columns keep their place', isPrefix(before, names), [before, names]);
    check(
      'metaData: partition columns',
      partitionColumns.every((name: string) => names.includes(name)),
      partitionColumns,
    );
  }

  #checkFile(kind: string, file: Json): void {
    const check = this.#check;
    const path = decodeURIComponent(file.path);
    const values = file.partitionValues;
    const columns = this.metaData.partitionColumns.toSorted();
    check(
      `${kind}: path is a relative URI`,
      !/^[/\\]|^\w+:|\.\./.test(path) && /^[\w%=./-]+$/.test(file.path),
      path,
    );
    check(
      `${kind}: partitionValues`,
      isTextMap(values) && Object.keys(values).toSorted().join() === columns.join(),
      values,
    );
    check(
      `${kind}: partition and path`,
      path.startsWith(`vessel=${values.vessel}/date=${values.date}/`),
      path,
    );
    check(`${kind}: a date`, /^\d{4}-\d\d-\d\d$/.test(values.date), values);
    check(`${kind}: dataChange`, typeof file.dataChange === 'boolean', file);
    const whole = join(this.#table, path);
    // gc may have removed what left the table.
    if (kind === 'add' || existsSync(whole))
      check(`${kind}: size`, existsSync(whole) && statSync(whole).size === file.size, path);
  }

  #checkStatistics({ path, stats }: Json): void {
    const columns = fieldsOf(this.metaData).map(({ name }) => name);
    const { numRecords, minValues, maxValues, nullCount } = JSON.parse(stats ?? '{}');
    this.#check('stats: numRecords', Number.isSafeInteger(numRecords), path);
    for (const values of [minValues, maxValues, nullCount])
      for (const name of Object.keys(values ?? {}))
        this.#check(
          'stats: of columns that are no partitions',
          columns.includes(name) && !this.metaData.partitionColumns.includes(name),
          name,
        );
    const bounded = (values: Json) => Object.keys(values ?? {}).join();
    this.#check('stats: bounds come in pairs', bounded(minValues) === bounded(maxValues), stats);
  }
}

function checkProtocolAction(protocol: Json, check: Check): void {
  const { minReaderVersion, minWriterVersion, ...rest } = protocol;
  check('protocol: 1/2, without features', minReaderVersion === 1 && minWriterVersion === 2, protocol);
  check('protocol: nothing else', Object.keys(rest).length === 0, protocol);
}

const fieldsOf = (metaData: Json): { name: string; type: string }[] =>
  metaData === undefined ? [] : JSON.parse(metaData.schemaString).fields;
const isTextMap = (value: Json) =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((text) => text === null || typeof text === 'string');
const isPrefix = (before: readonly string[], names: readonly string[]) =>
  before.every((name, i) => names[i] === name);

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
  const expected = {
    ...{ version, size: rows.length, sizeInBytes: statSync(path).size },
    numOfAddFiles: rows.filter((row) => row.add).length,
  };
  check('_last_checkpoint', JSON.stringify(sorted(last)) === JSON.stringify(sorted(expected)), [
    last,
    expected,
  ]);
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
      check(
        'file: columns are those of the schema',
        PHYSICAL[types.get(name) ?? ''] === found,
        `${name} ${found}`,
      );
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
      check(
        'stats: nullCount is exact',
        [undefined, Number(nulls)].includes(nullCount[name]),
        `${path} ${name}`,
      );
      check('stats: no bounds of nothing', min !== null || minValues[name] === undefined, `${path} ${name}`);
      check(
        'stats: every value is within the bounds',
        values[1 + 3 * names.length + i] === true,
        `${path} ${name}`,
      );
    }
  }
}
