/**
 * Entries of a Delta log, read like any foreign input: whoever can write to the lake writes them. Fields and actions that we
 * do not know are passed over, as the protocol asks; what would change the meaning of a file is refused.
 */
import { DataError, FatalError, messageOf, shortName } from '../../core/errors.ts';
import type {
  Action,
  AddFile,
  CommitInfo,
  Protocol,
  RemoveFile,
  TableMetadata,
  TextMap,
  Transaction,
} from './actions.ts';

/** The format of a table of Parquet files. */
export const PARQUET: TableMetadata['format'] = { provider: 'parquet', options: {} };

type Fields = Readonly<Record<string, unknown>>;

/** What to do follows. */
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

/** An action out of the protocol's own words; undefined for one that we do not know. Throws as `parseActions`. */
export function parseAction(value: unknown, where: string): Action | undefined {
  const fields = objectOf(value, 'an action', where);
  const { add, remove, metaData, protocol, txn, commitInfo } = fields;
  if (isThere(add)) return { add: parseAdd(objectOf(add, 'add', where), where) };
  if (isThere(remove)) return { remove: parseRemove(objectOf(remove, 'remove', where), where) };
  if (isThere(metaData)) return { metaData: parseMetadata(objectOf(metaData, 'metaData', where), where) };
  if (isThere(protocol)) return { protocol: parseProtocol(objectOf(protocol, 'protocol', where), where) };
  if (isThere(txn)) return { txn: parseTransaction(objectOf(txn, 'txn', where), where) };
  if (isThere(commitInfo)) return { commitInfo: parseCommitInfo(objectOf(commitInfo, 'commitInfo', where)) };
  return undefined;
}

function parseAdd(fields: Fields, where: string): AddFile {
  if (isThere(fields.deletionVector))
    throw unsupportedTable(where, 'a file with a deletion vector', 'files whose rows are all there');
  return {
    path: decodePath(textOf(fields.path, 'add.path', where), where),
    partitionValues: textsOf(fields.partitionValues, 'add.partitionValues', where),
    sizeBytes: countOf(fields.size, 'add.size', where),
    modifiedMs: countOf(fields.modificationTime, 'add.modificationTime', where),
    dataChange: fields.dataChange !== false,
    ...(isThere(fields.stats) && { stats: textOf(fields.stats, 'add.stats', where) }),
    ...(isThere(fields.tags) && { tags: textsOf(fields.tags, 'add.tags', where) }),
  };
}

function parseRemove(fields: Fields, where: string): RemoveFile {
  return {
    path: decodePath(textOf(fields.path, 'remove.path', where), where),
    // It may be missing: the file may then go at once.
    deletedMs: isThere(fields.deletionTimestamp)
      ? countOf(fields.deletionTimestamp, 'remove.deletionTimestamp', where)
      : 0,
    dataChange: fields.dataChange !== false,
    ...(isThere(fields.partitionValues) && {
      partitionValues: textsOf(fields.partitionValues, 'remove.partitionValues', where),
    }),
    ...(isThere(fields.size) && { sizeBytes: countOf(fields.size, 'remove.size', where) }),
  };
}

function parseMetadata(fields: Fields, where: string): TableMetadata {
  const { partitionColumns, description } = fields;
  if (!Array.isArray(partitionColumns) || partitionColumns.some((name) => typeof name !== 'string'))
    throw damagedLog(where, `metaData.partitionColumns ${shown(partitionColumns)}`, 'a list of names');
  const configuration = textsOf(fields.configuration ?? {}, 'metaData.configuration', where);
  return {
    id: textOf(fields.id, 'metaData.id', where),
    ...(isThere(fields.name) && { name: textOf(fields.name, 'metaData.name', where) }),
    ...(typeof description === 'string' && { description }),
    format: parseFormat(objectOf(fields.format ?? PARQUET, 'metaData.format', where), where),
    schemaString: textOf(fields.schemaString, 'metaData.schemaString', where),
    partitionColumns,
    configuration: Object.fromEntries(Object.entries(configuration).map(([key, text]) => [key, text ?? ''])),
    ...(isThere(fields.createdTime) && {
      createdTimeMs: countOf(fields.createdTime, 'metaData.createdTime', where),
    }),
  };
}

function parseFormat({ provider, options }: Fields, where: string): TableMetadata['format'] {
  return {
    provider: textOf(provider, 'metaData.format.provider', where),
    options: textsOf(options ?? {}, 'metaData.format.options', where),
  };
}

function parseTransaction({ appId, version, lastUpdated }: Fields, where: string): Transaction {
  return {
    appId: textOf(appId, 'txn.appId', where),
    version: countOf(version, 'txn.version', where),
    ...(isThere(lastUpdated) && { lastUpdatedMs: countOf(lastUpdated, 'txn.lastUpdated', where) }),
  };
}

function parseProtocol(fields: Fields, where: string): Protocol {
  return {
    minReaderVersion: countOf(fields.minReaderVersion, 'protocol.minReaderVersion', where),
    minWriterVersion: countOf(fields.minWriterVersion, 'protocol.minWriterVersion', where),
  };
}

/** Anything may stand in it: what is no use to us is left out. */
function parseCommitInfo({ timestamp, operation, txnId }: Fields): CommitInfo {
  return {
    timestampMs: Number.isSafeInteger(timestamp) ? (timestamp as number) : 0,
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

const isThere = (value: unknown) => value !== undefined && value !== null;

function objectOf(value: unknown, name: string, where: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw damagedLog(where, `${name} ${shown(value)}`, 'an object');
}

function textOf(value: unknown, name: string, where: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw damagedLog(where, `${name} ${shown(value)}`, 'a text');
}

function countOf(value: unknown, name: string, where: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw damagedLog(where, `${name} ${shown(value)}`, 'a whole number');
}

function textsOf(value: unknown, name: string, where: string): TextMap {
  const fields = objectOf(value, name, where);
  for (const [key, text] of Object.entries(fields))
    if (text !== null && typeof text !== 'string')
      throw damagedLog(where, `${name}.${shortName(key)} ${shown(text)}`, 'a text or null');
  return fields as TextMap;
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : shortName(JSON.stringify(value));
}

/** A file of the log says what no writer of the protocol would write, or is lost. `where` begins with the name of its job. */
export function damagedLog(where: string, found: string, expected: string): DataError {
  return new DataError(
    'damaged-log',
    `${where}: found ${found}, expected ${expected}${ADVICE} into the table until the log is restored, from a version of the bucket or a backup. Where there is none 'vessel-export rebuild-log ${jobOf(where)}' makes a new one of what the receipts say`,
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

/** Is it the log that cannot be read, or understood? */
export function isTableFault(error: unknown): error is DataError | FatalError {
  return error instanceof DataError || (error instanceof FatalError && error.code === 'unsupported-table');
}
