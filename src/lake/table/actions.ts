/**
 * What the entries of a Delta log say, as far as protocol 1/2 has it, and how they are written so that every reader
 * understands them; parse-actions.ts reads them.
 */

/** The versions of the protocol that a reader and a writer of the table must know. */
export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
}

/** What the table is: columns, partitions, settings. */
export interface TableMetadata {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  /** The format of its files. */
  readonly format: { readonly provider: string; readonly options: TextMap };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTimeMs?: number;
}

export type TextMap = Readonly<Record<string, string | null>>;

/** By column, as text; null for the partition of rows without a value. */
export type PartitionValues = TextMap;

/** A file that belongs to the table from this version on. */
export interface AddFile {
  /** Below the table's folder, `/`-separated and not encoded; a file elsewhere by its whole address. */
  readonly path: string;
  readonly partitionValues: PartitionValues;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  /** False where the rows are the same as before, in other files. */
  readonly dataChange: boolean;
  /** Statistics as JSON text. */
  readonly stats?: string;
  readonly tags?: TextMap;
}

/** A file that does no longer belong to the table; readers of older versions still read it. */
export interface RemoveFile {
  readonly path: string;
  readonly deletedMs: number;
  readonly dataChange: boolean;
  readonly partitionValues?: PartitionValues;
  readonly sizeBytes?: number;
}

/** Who wrote an entry; `txnId` tells it from every other. Readers pass over the rest. */
export interface CommitInfo {
  readonly timestampMs: number;
  readonly operation: string;
  readonly txnId?: string;
}

/** How far an application that writes has come, in its own counting. */
export interface Transaction {
  readonly appId: string;
  readonly version: number;
  readonly lastUpdatedMs?: number;
}

/** One line of an entry. */
export type Action =
  | { readonly commitInfo: CommitInfo }
  | { readonly protocol: Protocol }
  | { readonly txn: Transaction }
  | { readonly metaData: TableMetadata }
  | { readonly add: AddFile }
  | { readonly remove: RemoveFile };

type Fields = Readonly<Record<string, unknown>>;

/** NDJSON of an entry. */
export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(wireForm(action))}\n`).join('');
}

/** An action in the protocol's own words. */
export function wireForm(action: Action): Fields {
  if ('add' in action) {
    const { path, partitionValues, sizeBytes, modifiedMs, dataChange, stats, tags } = action.add;
    const rest = { size: sizeBytes, modificationTime: modifiedMs, dataChange };
    const added = { ...(stats !== undefined && { stats }), ...(tags !== undefined && { tags }) };
    return { add: { path: encodePath(path), partitionValues, ...rest, ...added } };
  }
  if ('remove' in action) {
    const { path, deletedMs, dataChange, partitionValues, sizeBytes } = action.remove;
    const hasMore = partitionValues !== undefined && sizeBytes !== undefined;
    return {
      remove: {
        path: encodePath(path),
        deletionTimestamp: deletedMs,
        dataChange,
        ...(hasMore && { extendedFileMetadata: true, partitionValues, size: sizeBytes }),
      },
    };
  }
  if ('metaData' in action) {
    const { id, name, description, format, schemaString, createdTimeMs } = action.metaData;
    const { partitionColumns, configuration } = action.metaData;
    return {
      metaData: {
        ...{ id, ...(name !== undefined && { name }), ...(description !== undefined && { description }) },
        ...{ format, schemaString, partitionColumns, configuration },
        ...(createdTimeMs !== undefined && { createdTime: createdTimeMs }),
      },
    };
  }
  if ('protocol' in action) return { protocol: action.protocol };
  if ('txn' in action) {
    const { appId, version, lastUpdatedMs } = action.txn;
    return { txn: { appId, version, ...(lastUpdatedMs !== undefined && { lastUpdated: lastUpdatedMs }) } };
  }
  const { timestampMs, operation, txnId } = action.commitInfo;
  return {
    commitInfo: {
      timestamp: timestampMs,
      operation,
      operationParameters: {},
      engineInfo: 'vessel-export',
      ...(txnId !== undefined && { txnId }),
    },
  };
}

/** A path as a log has it: percent-encoded, since it is read as a relative URI. */
function encodePath(path: string): string {
  return encodeURI(path).replace(/[?#]/g, encodeURIComponent);
}
