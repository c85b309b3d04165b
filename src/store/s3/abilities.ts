import { randomUUID } from 'node:crypto';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { PROBE_PREFIX } from '../key.ts';
import type { Version } from '../store.ts';
import type { S3Bucket } from './client.ts';
import { isConflict } from './errors.ts';
import { headObject, readObject } from './reads.ts';

/** Which conditions a server obeys. Some ignore them in silence, so that only trying tells. */
export interface S3Abilities {
  /** PUT obeys `If-None-Match: *`. */
  readonly putsIfAbsent: boolean;
  /** How a version is named in `If-Match` on PUT; undefined where that is ignored or refused. */
  readonly matchForm: ((version: Version) => string) | undefined;
  /** Completing an upload obeys `If-Match` and `If-None-Match`. */
  readonly completes: boolean;
}

/** A condition of S3's on what is there. */
export type PutCondition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>;

/** The same bytes have the same version, so that a put which is sent twice is written twice. */
const PROBE = 'probe';
const NO_VERSION = '"00000000000000000000000000000000"';
/** The standard's form, and that of Ceph before 17. */
const MATCH_FORMS = [(version: Version) => version, (version: Version) => version.replaceAll('"', '')];

/** Try them on an object of our own, `_probes/<id>`: nine to eleven requests, and nothing is left. */
export async function probeAbilities(s3: S3Bucket): Promise<S3Abilities> {
  const key = `${PROBE_PREFIX}${randomUUID()}`;
  const target = { Bucket: s3.bucket, Key: s3.nameOf(key) };
  return await s3.call('try conditional writes at', key, async () => {
    try {
      const { ETag } = await s3.client.send(new PutObjectCommand({ ...target, Body: PROBE }));
      const version = ETag || (await headObject(s3, key))?.version;
      // Nothing is known without a version. To say that the store has no conditions would hold for as long as we run.
      if (!version) throw unnamed();
      const matchForm = await findMatchForm(s3, target, version);
      const putsIfAbsent = (await tryPut(s3, target, { IfNoneMatch: '*' }, randomUUID())) === 'refused';
      const completes = matchForm !== undefined && (await obeysOnComplete(s3, target));
      return { putsIfAbsent, matchForm, completes };
    } finally {
      await s3.client.send(new DeleteObjectCommand(target)).catch(() => {});
    }
  });
}

type Target = { readonly Bucket: string; readonly Key: string };

/** Put over what is there. `unknown`: the server says that it does not know the condition. */
async function tryPut(
  s3: S3Bucket,
  target: Target,
  condition: PutCondition,
  Body = PROBE,
): Promise<'written' | 'refused' | 'unknown'> {
  try {
    const { ETag } = await s3.client.send(new PutObjectCommand({ ...target, Body, ...condition }));
    // An answer that names no version may be the page of somebody in between.
    const found = ETag ? undefined : await readObject(s3, s3.keyOf(target.Key));
    if (!ETag && !(found && Buffer.from(Body).equals(found.bytes))) throw unnamed();
    return 'written';
  } catch (error) {
    if (isConflict(error)) return 'refused';
    if (isNotImplemented(error)) return 'unknown';
    throw error;
  }
}

async function findMatchForm(
  s3: S3Bucket,
  target: Target,
  version: Version,
): Promise<S3Abilities['matchForm']> {
  const isWritten = async (IfMatch: string) => (await tryPut(s3, target, { IfMatch })) === 'written';
  // What lets a wrong version pass ignores the condition.
  if (await isWritten(NO_VERSION)) return undefined;
  for (const form of MATCH_FORMS) if (await isWritten(form(version))) return form;
  return undefined;
}

/** There is an object: a server that completes over it for `If-None-Match: *` ignores the condition. */
async function obeysOnComplete(s3: S3Bucket, target: Target): Promise<boolean> {
  const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand(target));
  const upload = { ...target, UploadId: UploadId! };
  try {
    const part = await s3.client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'probe' }));
    const Parts = [{ PartNumber: 1, ETag: part.ETag }];
    const command = { ...upload, MultipartUpload: { Parts }, IfNoneMatch: '*' };
    await s3.onceClient.send(new CompleteMultipartUploadCommand(command));
    return false;
  } catch (error) {
    await s3.client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
    if (isConflict(error)) return true;
    if (isNotImplemented(error)) return false;
    throw error;
  }
}

function unnamed(): Error {
  return new Error(
    'the answers name no version (ETag) of what was written: look at what is between here and the store',
  );
}

function isNotImplemented(error: unknown): boolean {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  return name === 'NotImplemented' || $metadata?.httpStatusCode === 501;
}
