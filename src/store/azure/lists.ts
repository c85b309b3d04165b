/**
 * Lists of a container, page by page. What is not seen in them counts as not there, so an answer that is no list, or that
 * names what was not asked for, is an error.
 *
 * The order is that of the names' UTF-16 units, and in an account with folders (a hierarchical namespace) a folder's
 * entries come before what its name is only the beginning of (`a/x` before `a-b`). The port wants the order of bytes: each
 * page is sorted, and what lies below a folder of such an account is held until the folder is over.
 */
import type { BlobItem, ContainerListBlobFlatSegmentResponse } from '@azure/storage-blob';
import { checkPrefix, faultOfKey } from '../key.ts';
import { strangeAnswer } from '../remote.ts';
import type { ListedObject } from '../store.ts';
import type { AzureContainer } from './client.ts';
import { isHidden } from './reads.ts';

interface Options {
  readonly includeUncommitedBlobs?: boolean;
}

export async function* listPages(azure: AzureContainer, prefix: string): AsyncIterable<ListedObject[]> {
  let held: ListedObject[] = [];
  /** The outermost folder that is not over. */
  let folder: string | undefined;
  for await (const items of listItems(azure, prefix)) {
    const ready: ListedObject[] = [];
    for (const { name, metadata, properties } of items) {
      if (folder !== undefined && !name.startsWith(folder)) {
        ready.push(...inOrder(held));
        held = [];
        folder = undefined;
      }
      const key = name.slice(azure.folder.length);
      if (isHidden(metadata)) {
        folder ??= name;
        continue;
      }
      // Others may keep things here that are not ours to see.
      if (faultOfKey(key) !== undefined) continue;
      const { contentLength: sizeBytes = 0, lastModified, etag } = properties;
      if (!etag) throw notAList(azure, prefix, 'the list names no versions (ETags)');
      (folder === undefined ? ready : held).push({
        ...{ key, sizeBytes, modifiedMs: lastModified?.getTime() ?? 0 },
        tag: quoted(etag),
      });
    }
    if (ready.length > 0) yield inOrder(ready);
  }
  if (held.length > 0) yield inOrder(held);
}

/** Lists give versions as they are, all else gives them in quotes. */
function quoted(etag: string): string {
  return etag.startsWith('"') ? etag : `"${etag}"`;
}

function inOrder(objects: readonly ListedObject[]): ListedObject[] {
  const isSorted = objects.every(({ key }, at) => at === 0 || compareKeys(objects[at - 1]!.key, key) < 0);
  return isSorted ? [...objects] : objects.toSorted((a, b) => compareKeys(a.key, b.key));
}

function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The blobs of a prefix as the store names them. */
export async function* listItems(
  azure: AzureContainer,
  prefix: string,
  options: Options = {},
): AsyncGenerator<readonly BlobItem[]> {
  checkPrefix(prefix);
  const asked = azure.folder + prefix;
  const include = { ...options, prefix: asked, includeMetadata: true };
  let marker: string | undefined;
  for (;;) {
    const page: ContainerListBlobFlatSegmentResponse = await azure.call('list', prefix, async () => {
      const paging = { maxPageSize: azure.pageSize, ...(marker && { continuationToken: marker }) };
      const pages = azure.client().listBlobsFlat(include).byPage(paging);
      return (await pages.next()).value;
    });
    // The page of somebody who stands in between has none of a list's elements.
    if (page?.segment?.blobItems === undefined || page.containerName === undefined)
      throw notAList(azure, prefix, 'the answer is no list');
    const items = page.segment.blobItems;
    // A cache that does not look at queries gives one answer to all lists, which names other blobs too.
    const stranger = items.find(({ name }) => !name.startsWith(asked));
    if (stranger !== undefined)
      throw notAList(
        azure,
        prefix,
        `the list names ${azure.clean(JSON.stringify(stranger.name))}, which was not requested`,
      );
    const next = page.continuationToken || undefined;
    if (next !== undefined && next === marker)
      throw notAList(azure, prefix, 'the list repeats an earlier page');
    yield items;
    if (next === undefined) return;
    marker = next;
  }
}

function notAList(azure: AzureContainer, prefix: string, what: string): Error {
  return azure.error(strangeAnswer(what), 'list', prefix);
}
