/** Multipart uploads on S3. The nonce is metadata of the object: so it is known again where the completing answer was lost. */
import { createHash, hash } from 'node:crypto';
import type { Part } from '@aws-sdk/client-s3';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { once } from '../../core/concurrency.ts';
import { CommitFailedError } from '../../core/errors.ts';
import { checkKey, checkNonce } from '../key.ts';
import { commitUnknown, NONCE_METADATA, strangeAnswer } from '../remote.ts';
import type { PartRef, UploadRef, Uploads, Version } from '../store.ts';
import { holdsParts, objectChanged, sizeOf } from '../store.ts';
import { probeReplacedParts, type S3Abilities } from './abilities.ts';
import type { S3Bucket } from './client.ts';
import { faultOf, isPartRefused, uploadGone, wasRefused } from './errors.ts';
import { askHead, type NamedHead, readRange } from './reads.ts';

const MIN_PART_BYTES = 5 << 20;

export function createUploads(s3: S3Bucket, abilities: () => Promise<S3Abilities>): Uploads {
  const targetOf = ({ key, uploadId }: UploadRef) => ({
    ...{ Bucket: s3.bucket, Key: s3.nameOf(key), UploadId: uploadId },
  });

  const replacesParts = once(() => probeReplacedParts(s3));

  /** The SDK's paginator would not end: Ceph names a next marker on the last page too. */
  async function* listParts(upload: UploadRef): AsyncIterable<Part> {
    const input = { ...targetOf(upload), MaxParts: s3.pageSize };
    let marker: string | undefined;
    for (;;) {
      const page = await s3.client.send(new ListPartsCommand({ ...input, PartNumberMarker: marker }));
      yield* page.Parts ?? [];
      if (!page.IsTruncated || page.NextPartNumberMarker === marker) return;
      marker = page.NextPartNumberMarker;
    }
  }

  /** The condition to send, or, where the store knows none, what a look before says. */
  async function conditionOf(
    upload: UploadRef,
    parts: readonly PartRef[],
    expected: Version | null | undefined,
  ): Promise<{ IfNoneMatch: '*' } | { IfMatch: string } | 'published' | undefined> {
    if (expected === undefined) return undefined;
    const { completes, matchForm } = await abilities();
    if (completes) return expected === null ? { IfNoneMatch: '*' } : { IfMatch: matchForm!(expected) };
    const head = await askHead(s3, upload.key);
    if ((head?.ETag ?? null) === expected) return undefined;
    if (isOurs(head, upload, parts)) return 'published';
    throw objectChanged(upload.key);
  }

  async function confirmPublished(upload: UploadRef, parts: readonly PartRef[]): Promise<void> {
    const head = await askHead(s3, upload.key).catch((error: unknown) => {
      const { name, text } = faultOf(error);
      const found = s3.clean(`${name} ${text}`.trim());
      throw commitUnknown(upload, `the answer holds no ETag, and asking for the object failed: ${found}`);
    });
    if (!isOurs(head, upload, parts))
      throw commitUnknown(upload, 'the answer holds no ETag, and the object that is there is another one');
  }

  /** Ceph 16 answers 500 when the upload is gone, so after an answered failure we look. An unanswered call stays unknown. */
  async function lookAfter(error: unknown, upload: UploadRef, parts: readonly PartRef[]): Promise<unknown> {
    const { name, status, text } = faultOf(error);
    const unknown = commitUnknown(upload, s3.clean(`${status ?? 'no answer'} ${name} ${text}`));
    if (status === undefined) return unknown;
    const listed = s3.client.send(new ListPartsCommand({ ...targetOf(upload), MaxParts: 1 }));
    const gone = await listed.then(
      () => undefined,
      (refused: unknown) => uploadGone(refused, upload.key),
    );
    if (gone === undefined) return unknown;
    const isPublished = await askHead(s3, upload.key).then(
      (head) => isOurs(head, upload, parts),
      () => true,
    );
    return isPublished ? unknown : gone;
  }

  return {
    async begin(key, nonce) {
      checkNonce(nonce);
      const target = { Bucket: s3.bucket, Key: s3.nameOf(key), Metadata: { [NONCE_METADATA]: nonce } };
      return await s3.call('begin an upload of', key, async () => {
        const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand(target));
        // A part of it would be an object, and be seen.
        if (!UploadId) throw strangeAnswer('the answer names no upload');
        return { key, uploadId: UploadId, nonce };
      });
    },

    append: (upload, partNumber, bytes) =>
      s3.call(`send part ${partNumber} of`, upload.key, async () => {
        const input = { ...targetOf(upload), PartNumber: partNumber, Body: bytes };
        const { ETag } = await s3.client.send(new UploadPartCommand(input)).catch((error: unknown) => {
          throw uploadGone(error, upload.key) ?? error;
        });
        // Nothing can be completed with it.
        if (!ETag) throw strangeAnswer('the answer names no version (ETag) of the part');
        return { partNumber, sizeBytes: bytes.length, sha256: hash('sha256', bytes), tag: unquoted(ETag) };
      }),

    /** The same upload when it still holds every one of `parts`, and the predecessor cannot complete it any more. */
    adopt: (upload, parts) =>
      s3.call('take over the upload of', upload.key, async () => {
        checkKey(upload.key);
        if (!(await replacesParts())) return undefined;
        const missing = new Map(parts.map((part) => [part.partNumber, part]));
        try {
          for await (const { PartNumber, Size, ETag } of listParts(upload)) {
            const part = missing.get(PartNumber!);
            if (part !== undefined && (Size !== part.sizeBytes || unquoted(ETag) !== part.tag))
              return undefined;
            missing.delete(PartNumber!);
          }
        } catch (error) {
          if (uploadGone(error, upload.key) !== undefined) return undefined;
          throw error;
        }
        return missing.size === 0 ? upload : undefined;
      }),

    /** Asks S3 once: a lost answer is for the caller to look into. */
    publish: (upload, parts, expected) =>
      s3.call('publish', upload.key, async () => {
        const condition = await conditionOf(upload, parts, expected);
        if (condition === 'published') return;
        const Parts = parts.map((part) => ({ PartNumber: part.partNumber, ETag: part.tag }));
        const input = { ...targetOf(upload), ...condition, MultipartUpload: { Parts } };
        let etag: string | undefined;
        try {
          etag = (await s3.onceClient.send(new CompleteMultipartUploadCommand(input))).ETag;
        } catch (error) {
          if (condition !== undefined && faultOf(error).status === 412) throw objectChanged(upload.key);
          throw completeError(error, upload, parts) ?? (await lookAfter(error, upload, parts));
        }
        // Ceph 16 answers without an ETag. S3 may also answer 200 and then an error that the SDK did not recognise.
        if (!etag) await confirmPublished(upload, parts);
      }),

    async publishedBy(upload, parts) {
      const { key } = upload;
      const head = await s3.call('read', key, () => askHead(s3, key));
      if (!isOurs(head, upload, parts)) return false;
      // Where part tags are MD5s (not with KMS encryption), the object's ETag follows from them.
      const digest = createHash('md5');
      for (const part of parts) digest.update(part.tag, 'hex');
      if (unquoted(head?.ETag) === `${digest.digest('hex')}-${parts.length}`) return true;
      return await holdsParts(parts, (fromByte, toByte) => readRange(s3, key, fromByte, toByte));
    },

    abandon: (upload) =>
      s3.call('drop the upload of', upload.key, async () => {
        try {
          await s3.client.send(new AbortMultipartUploadCommand(targetOf(upload)));
        } catch (error) {
          if (uploadGone(error, upload.key) === undefined) throw error;
        }
      }),
  };
}

/** Why a completing call certainly did nothing; undefined when it may have worked. */
function completeError(error: unknown, upload: UploadRef, parts: readonly PartRef[]): unknown {
  const { name } = faultOf(error);
  // A part that another attempt sent again can be too small now; if ours are, that is for s3Error to tell.
  const resent =
    name === 'EntityTooSmall' && parts.slice(0, -1).every((part) => part.sizeBytes >= MIN_PART_BYTES);
  if (isPartRefused(error) || resent) {
    return new CommitFailedError(
      'part-mismatch',
      `the upload of ${upload.key} does not hold just the parts it is to be completed with (${name}): another attempt sent some. Start the upload again.`,
    );
  }
  return wasRefused(error) ? (uploadGone(error, upload.key) ?? error) : undefined;
}

function isOurs(head: NamedHead | undefined, upload: UploadRef, parts: readonly PartRef[]): boolean {
  if (head === undefined || upload.nonce === '') return false;
  return head.Metadata?.[NONCE_METADATA] === upload.nonce && head.ContentLength === sizeOf(parts);
}

function unquoted(etag: string | undefined): string {
  return (etag ?? '').replaceAll('"', '');
}
