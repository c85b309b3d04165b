/**
 * Lists of a bucket, page by page. What is not seen in them counts as not there, so an answer that is no list, that is
 * about something else, or that goes on where it was before is an error.
 */
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { checkPrefix, faultOfKey } from '../key.ts';
import { strangeAnswer } from '../remote.ts';
import type { ListedObject, UploadRef } from '../store.ts';
import type { S3Bucket } from './client.ts';

export async function* listPages(s3: S3Bucket, prefix: string): AsyncIterable<ListedObject[]> {
  const input = { Bucket: s3.bucket, Prefix: s3.folder + prefix, MaxKeys: s3.pageSize };
  const pages = pagesOf(
    s3,
    prefix,
    (place: { ContinuationToken?: string | undefined }) =>
      s3.client.send(new ListObjectsV2Command({ ...input, ...place })),
    (page) => ({ ContinuationToken: page.NextContinuationToken }),
  );
  let lastName: string | undefined;
  for await (const { Contents: found = [] } of pages) {
    const last = found.at(-1)?.Key;
    if (last !== undefined && last === lastName) throw goesRound(s3, prefix);
    lastName = last ?? lastName;
    const objects: ListedObject[] = [];
    for (const { Key: name = '', Size: sizeBytes = 0, LastModified, ETag: tag = '' } of found) {
      // A cache that does not look at queries gives one answer to all lists, which names other objects too.
      if (!name.startsWith(s3.folder + prefix))
        throw notAList(
          s3,
          prefix,
          `the list names ${s3.clean(JSON.stringify(name))}, which was not requested`,
        );
      const key = s3.keyOf(name);
      // Others may keep things here that are not ours to see, such as the empty "folders" of web consoles.
      if (faultOfKey(key) === undefined)
        objects.push({ key, sizeBytes, modifiedMs: LastModified?.getTime() ?? 0, tag });
    }
    yield objects;
  }
}

export async function* listUploads(
  s3: S3Bucket,
  prefix: string,
): AsyncIterable<UploadRef & { startedMs: number }> {
  const input = { Bucket: s3.bucket, Prefix: s3.folder + prefix, MaxUploads: s3.pageSize };
  const pages = pagesOf(
    s3,
    prefix,
    (place: { KeyMarker?: string | undefined; UploadIdMarker?: string }) =>
      s3.client.send(new ListMultipartUploadsCommand({ ...input, ...place })),
    ({ NextKeyMarker: KeyMarker, NextUploadIdMarker }) => ({
      KeyMarker,
      ...(NextUploadIdMarker && { UploadIdMarker: NextUploadIdMarker }),
    }),
  );
  for await (const { Uploads = [] } of pages)
    for (const { Key, UploadId, Initiated } of Uploads) {
      const key = s3.keyOf(Key!);
      // They are listed to be dropped: what was not asked for is not ours to drop.
      if (!Key!.startsWith(s3.folder + prefix) || faultOfKey(key) !== undefined) continue;
      // Dropping it would remove the object.
      if (!UploadId) throw notAList(s3, prefix, 'the list has an upload without an id');
      yield { key, uploadId: UploadId, nonce: '', startedMs: Initiated?.getTime() ?? 0 };
    }
}

/** The pages of a list; `placeAfter` says where it goes on. */
async function* pagesOf<Page extends { IsTruncated?: boolean | undefined }, Place extends object>(
  s3: S3Bucket,
  prefix: string,
  ask: (place: Partial<Place>) => Promise<Page>,
  placeAfter: (page: Page) => Place,
): AsyncGenerator<Page> {
  checkPrefix(prefix);
  let place: Partial<Place> = {};
  for (;;) {
    const page = await s3.call('list', prefix, () => ask(place));
    // The page of somebody who stands in between has none of a list's elements, and the SDK makes an empty list of it.
    if (page.IsTruncated === undefined) throw notAList(s3, prefix, 'the answer is no list');
    const next = page.IsTruncated ? placeAfter(page) : undefined;
    if (next !== undefined && !Object.values(next)[0])
      throw notAList(s3, prefix, 'the list is incomplete, and the store does not say how to continue');
    if (next !== undefined && JSON.stringify(next) === JSON.stringify(place)) throw goesRound(s3, prefix);
    yield page;
    if (next === undefined) return;
    place = next;
  }
}

function goesRound(s3: S3Bucket, prefix: string): Error {
  return notAList(s3, prefix, 'the list repeats an earlier page');
}

function notAList(s3: S3Bucket, prefix: string, what: string): Error {
  return s3.error(strangeAnswer(what), 'list', prefix);
}
