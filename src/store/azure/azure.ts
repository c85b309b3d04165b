import { eachOf, KEEPS_ALL, type ObjectStore } from '../store.ts';
import { type AzureStoreOptions, openContainer } from './client.ts';
import { listPages } from './lists.ts';
import { headObject, readObject, readRange } from './reads.ts';
import { createUploads } from './uploads.ts';
import { createWrites } from './writes.ts';

/**
 * Objects as block blobs in a container of Azure Blob Storage, with folders (Data Lake Storage Gen2) or without, through
 * the Blob API. It keeps every condition that the port has.
 */
export function createAzureStore(options: AzureStoreOptions): ObjectStore {
  const azure = openContainer(options);
  return {
    url: azure.url,
    get: (key) => readObject(azure, key),
    getRange: (key, fromByte, toByte) => readRange(azure, key, fromByte, toByte),
    head: (key) => headObject(azure, key),
    ...createWrites(azure),
    list: (prefix) => eachOf(listPages(azure, prefix)),
    listPages: (prefix) => listPages(azure, prefix),
    // A folder's own time does not tell of what lies in it.
    folderState: async () => undefined,
    ...createUploads(azure),
    capabilities: async () => KEEPS_ALL,
    close: async () => azure.close(),
  };
}
