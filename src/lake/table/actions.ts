/** What the entries of a Delta log say, in the words of protocol 1/2, and how they are written; parse-actions.ts reads them. */

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
  readonly format: { readonly provider: string; readonly options: TextMap };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  /** In milliseconds, as every time here. */
  readonly createdTime?: number;
}

type TextMap = Readonly<Record<string, string | null>>;

/** A file that belongs to the table from this version on. */
export interface AddFile {
  /** Below the table's folder, `/`-separated and not encoded; a file elsewhere by its whole address. */
  readonly path: string;
  /** By column, as text; null for the partition of rows without a value. */
  readonly partitionValues: TextMap;
  readonly size: number;
  readonly modificationTime: number;
  /** False where the rows are the same as before, in other files. */
  readonly dataChange: boolean;
  readonly stats?: string;
  readonly tags?: TextMap;
}

/** A file that does no longer belong to the table; readers of older versions still read it. */
export interface RemoveFile extends Pick<AddFile, 'path' | 'dataChange'> {
  readonly deletionTimestamp: number;
  readonly partitionValues?: TextMap;
  readonly size?: number;
}

export interface Transaction {
  readonly appId: string;
  readonly version: number;
  readonly lastUpdated?: number;
}

export type Action =
  /** Who wrote an entry; `txnId` tells it from every other. Readers pass over the rest. */
  | {
      readonly commitInfo: {
        readonly timestamp: number;
        readonly operation: string;
        readonly txnId?: string;
      };
    }
  | { readonly protocol: Protocol }
  | { readonly txn: Transaction }
  | { readonly metaData: TableMetadata }
  | { readonly add: AddFile }
  | { readonly remove: RemoveFile };

export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(wireForm(action))}\n`).join('');
}

export function wireForm(action: Action): Readonly<Record<string, unknown>> {
  if ('add' in action) return { add: { ...action.add, path: encodePath(action.add.path) } };
  if ('remove' in action) {
    const { path, deletionTimestamp, dataChange, partitionValues, size } = action.remove;
    const hasMore = partitionValues !== undefined && size !== undefined;
    const more = hasMore && { extendedFileMetadata: true, partitionValues, size };
    return { remove: { path: encodePath(path), deletionTimestamp, dataChange, ...more } };
  }
  if (!('commitInfo' in action)) return action;
  return { commitInfo: { ...action.commitInfo, operationParameters: {}, engineInfo: 'vessel-export' } };
}

/** A path as a log has it: percent-encoded, since it is read as a relative URI. */
function encodePath(path: string): string {
  return encodeURI(path).replace(/[?#]/g, encodeURIComponent);
}
