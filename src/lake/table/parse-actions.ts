/** Entries of a Delta log, read like any input: what we do not know is passed over, what would change a file's meaning refused. */
import { DataError, FatalError, messageOf, shortName } from '../../core/errors.ts';
import type { Action, AddFile, RemoveFile, TableMetadata } from './actions.ts';

export const PARQUET: TableMetadata['format'] = { provider: 'parquet', options: {} };

type Fields = Readonly<Record<string, unknown>>;

const ADVICE = '; nothing is published';

/** A line is a file with its statistics, or the columns of a table. */
const MAX_LINE_CHARS = 4 << 20;

/**
 * The actions of an entry that we know, in its order. Throws DataError `damaged-log` that names file and line, what was
 * found and what was expected; FatalError `unsupported-table` for a file that only newer readers understand.
 */
export function parseActions(bytes: Uint8Array, key: string): Action[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const actions: Action[] = [];
  let from = 0;
  for (let line = 1; from < text.length; line++) {
    const newline = text.indexOf('\n', from);
    const end = newline < 0 ? text.length : newline;
    const action = parseLine(text.slice(from, end), `${key}: line ${line}`);
    if (action !== undefined) actions.push(action);
    from = end + 1;
  }
  return actions;
}

function parseLine(text: string, where: string): Action | undefined {
  if (text.trim() === '') return undefined;
  if (text.length > MAX_LINE_CHARS)
    throw damagedLog(where, `${text.length} characters`, `at most ${MAX_LINE_CHARS}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damagedLog(where, `no JSON (${messageOf(error)})`, 'an action as JSON');
  }
  return parseAction(value, where);
}

const isThere = (value: unknown) => value !== undefined && value !== null;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTextOrNull = (value: unknown) => value === null || typeof value === 'string';

type Test = readonly [isRight: (value: unknown) => boolean, expected: string];
const TEXT: Test = [(value) => typeof value === 'string' && value !== '', 'a text'];
const COUNT: Test = [(value) => Number.isSafeInteger(value) && (value as number) >= 0, 'a whole number'];
const TEXTS: Test = [
  (value) => isObject(value) && Object.values(value).every(isTextOrNull),
  'texts or nulls by name',
];
const NAMES: Test = [
  (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  'a list of names',
];
const FORMAT: Test = [
  (value) => isObject(value) && TEXT[0](value.provider) && TEXTS[0](value.options ?? {}),
  'provider and options',
];

type Members = Readonly<Record<string, Test>>;

/** By kind of action: the members that it must have, and those that it may have. In the order in which they are looked for. */
const KINDS: Readonly<Record<string, { readonly needed: Members; readonly more: Members }>> = {
  add: {
    needed: { path: TEXT, partitionValues: TEXTS, size: COUNT, modificationTime: COUNT },
    more: { stats: TEXT, tags: TEXTS },
  },
  // Without a time the file may go at once.
  remove: { needed: { path: TEXT }, more: { deletionTimestamp: COUNT, partitionValues: TEXTS, size: COUNT } },
  metaData: {
    needed: { partitionColumns: NAMES, id: TEXT, schemaString: TEXT },
    more: { name: TEXT, format: FORMAT, configuration: TEXTS, createdTime: COUNT },
  },
  protocol: { needed: { minReaderVersion: COUNT, minWriterVersion: COUNT }, more: {} },
  txn: { needed: { appId: TEXT, version: COUNT }, more: { lastUpdated: COUNT } },
  commitInfo: { needed: {}, more: {} },
};

/** The action of a line; undefined for one that we do not know. Throws as `parseActions`. */
export function parseAction(value: unknown, where: string): Action | undefined {
  if (!isObject(value)) throw damagedLog(where, `an action ${shown(value)}`, 'an object');
  for (const kind in KINDS) {
    const fields = value[kind];
    if (!isThere(fields)) continue;
    if (!isObject(fields)) throw damagedLog(where, `${kind} ${shown(fields)}`, 'an object');
    if (kind === 'add') return { add: parseAdd(fields, where) };
    if (kind === 'remove') return { remove: parseRemove(fields, where) };
    if (kind === 'metaData') return { metaData: parseMetadata(fields, where) };
    if (kind === 'commitInfo') return { commitInfo: parseCommitInfo(fields) };
    return { [kind]: membersOf(kind, fields, where) } as unknown as Action;
  }
  return undefined;
}

function membersOf<T>(kind: string, fields: Fields, where: string): T {
  const { needed, more } = KINDS[kind]!;
  const found: Record<string, unknown> = {};
  const take = (name: string, [isRight, expected]: Test) => {
    const value = fields[name];
    if (!isRight(value)) throw damagedLog(where, `${kind}.${name} ${shown(value)}`, expected);
    found[name] = value;
  };
  for (const name in needed) take(name, needed[name]!);
  for (const name in more) if (isThere(fields[name])) take(name, more[name]!);
  return found as T;
}

function parseAdd(fields: Fields, where: string): AddFile {
  if (isThere(fields.deletionVector))
    throw unsupportedTable(where, 'a file with a deletion vector', 'files whose rows are all there');
  const add = membersOf<AddFile>('add', fields, where);
  return { ...add, path: decodePath(add.path, where), dataChange: fields.dataChange !== false };
}

function parseRemove(fields: Fields, where: string): RemoveFile {
  const remove = membersOf<RemoveFile>('remove', fields, where);
  const { deletionTimestamp = 0 } = remove;
  const dataChange = fields.dataChange !== false;
  return { ...remove, deletionTimestamp, path: decodePath(remove.path, where), dataChange };
}

function parseMetadata(fields: Fields, where: string): TableMetadata {
  const metadata = membersOf<TableMetadata>('metaData', fields, where);
  const { format = PARQUET, configuration = {} } = metadata;
  const { description } = fields;
  return {
    ...metadata,
    ...(typeof description === 'string' && { description }),
    format: { provider: format.provider, options: format.options ?? {} },
    configuration: Object.fromEntries(Object.entries(configuration).map(([key, text]) => [key, text ?? ''])),
  };
}

/** Anything may stand in it: what is no use to us is left out. */
function parseCommitInfo({ timestamp, operation, txnId }: Fields) {
  return {
    timestamp: Number.isSafeInteger(timestamp) ? (timestamp as number) : 0,
    operation: typeof operation === 'string' ? shortName(operation) : '',
    ...(typeof txnId === 'string' && { txnId }),
  };
}

function decodePath(path: string, where: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    throw damagedLog(where, `the path ${shown(path)}`, 'a path with whole percent-encodings');
  }
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : shortName(JSON.stringify(value));
}

/** A file of the log says what no writer of the protocol would write, or is lost. `where` begins with the name of its job. */
export function damagedLog(where: string, found: string, expected: string): DataError {
  return new DataError(
    'damaged-log',
    `${where}: found ${found}, expected ${expected}${ADVICE} into the table until the log is restored, from a version of the bucket or a backup. If there is none, 'vessel-export rebuild-log ${jobOf(where)}' writes a new log from the receipts`,
  );
}

/** Another writer has made the table what only newer readers understand. `where` begins with the name of its job. */
export function unsupportedTable(where: string, found: string, expected: string): FatalError {
  const job = jobOf(where);
  return new FatalError(
    'unsupported-table',
    `${where}: the table has been changed by another writer: found ${found}, expected ${expected}${ADVICE} into it. Undo the change with that writer, or, to give up what it has written, move ${job}/_delta_log out of the lake and run 'vessel-export rebuild-log ${job}'`,
  );
}

function jobOf(where: string): string {
  return /^[^/:]*/.exec(where)![0];
}

/** What was found and expected, for those who say themselves what to do. */
export function faultText(error: DataError | FatalError): string {
  return error.message.split(ADVICE)[0]!;
}

export function isTableFault(error: unknown): error is DataError | FatalError {
  return error instanceof DataError || (error instanceof FatalError && error.code === 'unsupported-table');
}
