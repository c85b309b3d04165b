/**
 * Lists of a bucket, page by page. What is not seen in them counts as not there, so an answer that is no list, that is
 * about something else, or that goes on where it was before is an error.
 */
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { checkPrefix, faultOfKey } from '../key.ts';
import type { ListedObject, UploadRef } from '../store.ts';
import type { S3Bucket } from './client.ts';

/** See the port. */
export async function* listPages(s3: S3Bucket, prefix: string): AsyncIterable<ListedObject[]> {
  checkPrefix(prefix);
  const input = { Bucket: s3.bucket, Prefix: s3.folder + prefix, MaxKeys: s3.pageSize };
  let token: string | undefined;
  let lastName: string | undefined;
  do {
    const command = new ListObjectsV2Command({ ...input, ContinuationToken: token });
    const page = await s3.call('list', prefix, () => s3.client.send(command));
    expectList(s3, prefix, page);
    const found = page.Contents ?? [];
    const next = page.IsTruncated ? page.NextContinuationToken : undefined;
    if (page.IsTruncated && !next) throw goesNowhere(s3, prefix);
    const nextLast: string | undefined = found.at(-1)?.Key ?? lastName;
    if (token !== undefined && (next === token || (found.length > 0 && nextLast === lastName)))
      throw notAList(s3, prefix, 'the list goes on where it was before');
    const objects: ListedObject[] = [];
    for (const { Key: name = '', Size: sizeBytes = 0, LastModified, ETag: tag = '' } of found) {
      expectAsked(s3, prefix, name);
      const key = s3.keyOf(name);
      // Others may keep things here that are not ours to see, such as the empty "folders" of web consoles.
      if (faultOfKey(key) === undefined)
        objects.push({ key, sizeBytes, modifiedMs: LastModified?.getTime() ?? 0, tag });
    }
    yield objects;
    [token, lastName] = [next, nextLast];
  } while (token !== undefined);
}

/** See the port. */
export async function* listUploads(
  s3: S3Bucket,
  prefix: string,
): AsyncIterable<UploadRef & { startedMs: number }> {
  checkPrefix(prefix);
  let marker: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (;;) {
    const command = new ListMultipartUploadsCommand({
      Bucket: s3.bucket,
      Prefix: s3.folder + prefix,
      MaxUploads: s3.pageSize,
      ...marker,
    });
    const page = await s3.call('list', prefix, () => s3.client.send(command));
    expectList(s3, prefix, page);
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      const key = s3.keyOf(Key!);
      // They are listed to be dropped: what was not asked for is not ours to drop.
      if (!Key!.startsWith(s3.folder + prefix) || faultOfKey(key) !== undefined) continue;
      // Dropping it would remove the object.
      if (!UploadId) throw notAList(s3, prefix, 'the list has an upload without an id');
      yield { key, uploadId: UploadId, nonce: '', startedMs: Initiated?.getTime() ?? 0 };
    }
    if (!page.IsTruncated) return;
    const { NextKeyMarker, NextUploadIdMarker } = page;
    if (!NextKeyMarker) throw goesNowhere(s3, prefix);
    if (NextKeyMarker === marker.KeyMarker && (NextUploadIdMarker || undefined) === marker.UploadIdMarker)
      throw notAList(s3, prefix, 'the list goes on where it was before');
    marker = { KeyMarker: NextKeyMarker, ...(NextUploadIdMarker && { UploadIdMarker: NextUploadIdMarker }) };
  }
}

/** The page of somebody who stands in between has none of a list's elements, and the SDK makes an empty list of it. */
function expectList(
  s3: S3Bucket,
  prefix: string,
  { IsTruncated }: { readonly IsTruncated?: boolean | undefined },
): void {
  if (IsTruncated === undefined) throw notAList(s3, prefix, 'the answer is no list');
}

/** A cache that does not look at queries gives one answer to all lists, which names other objects too. */
function expectAsked(s3: S3Bucket, prefix: string, name: string): void {
  if (name.startsWith(s3.folder + prefix)) return;
  throw notAList(s3, prefix, `the list names ${s3.clean(JSON.stringify(name))}, which was not asked for`);
}

function goesNowhere(s3: S3Bucket, prefix: string): Error {
  return notAList(s3, prefix, 'the list goes on, and the store does not say where');
}

function notAList(s3: S3Bucket, prefix: string, what: string): Error {
  return s3.error(new Error(`${what}: look at what is between here and the store`), 'list', prefix);
}
