import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { uniqueId } from '../../core/unique-id.ts';
import { PROBE_PREFIX } from '../key.ts';
import { strangeAnswer } from '../remote.ts';
import type { Version } from '../store.ts';
import type { S3Bucket } from './client.ts';
import { isConflict, isNotImplemented, isPartRefused } from './errors.ts';
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

export type PutCondition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>;

/** The same bytes have the same version, so that a put which is sent twice is written twice. */
const PROBE = 'probe';
const NO_VERSION = '"00000000000000000000000000000000"';
/** The standard's form, and that of Ceph before 17. */
const MATCH_FORMS = [(version: Version) => version, (version: Version) => version.replaceAll('"', '')];

/** Try them on an object of our own, `_probes/<id>`: nine to twelve requests, and nothing is left. */
export async function probeAbilities(s3: S3Bucket): Promise<S3Abilities> {
  const { client } = s3;
  const key = `${PROBE_PREFIX}${uniqueId()}`;
  const target = { Bucket: s3.bucket, Key: s3.nameOf(key) };

  /** Put over what is there. `unknown`: the server says that it does not know the condition. */
  async function tryPut(condition: PutCondition, Body = PROBE): Promise<'written' | 'refused' | 'unknown'> {
    try {
      const { ETag } = await client.send(new PutObjectCommand({ ...target, Body, ...condition }));
      // An answer that names no version may be the page of somebody in between.
      const found = ETag ? undefined : await readObject(s3, key);
      if (!ETag && !(found && Buffer.from(Body).equals(found.bytes))) throw unnamed();
      return 'written';
    } catch (error) {
      if (isConflict(error)) return 'refused';
      if (isNotImplemented(error)) return 'unknown';
      throw error;
    }
  }

  async function findMatchForm(version: Version): Promise<S3Abilities['matchForm']> {
    const isWritten = async (IfMatch: string) => (await tryPut({ IfMatch })) === 'written';
    // What lets a wrong version pass ignores the condition.
    if (await isWritten(NO_VERSION)) return undefined;
    for (const form of MATCH_FORMS) if (await isWritten(form(version))) return form;
    return undefined;
  }

  /** There is an object, and of another version: a server that completes over it all the same ignores the condition. Some obey one. */
  async function obeysOnComplete(): Promise<boolean> {
    return await withProbeUpload(s3, target, async (send, complete) => {
      const tag = await send(PROBE);
      return !(await complete(tag, { IfMatch: NO_VERSION })) && !(await complete(tag, { IfNoneMatch: '*' }));
    });
  }

  return await s3.call('try conditional writes at', key, async () => {
    try {
      const { ETag } = await client.send(new PutObjectCommand({ ...target, Body: PROBE }));
      const version = ETag || (await headObject(s3, key))?.version;
      // Nothing is known without a version. To say that the store has no conditions would hold for as long as we run.
      if (!version) throw unnamed();
      const matchForm = await findMatchForm(version);
      const putsIfAbsent = (await tryPut({ IfNoneMatch: '*' }, uniqueId())) === 'refused';
      return { putsIfAbsent, matchForm, completes: matchForm !== undefined && (await obeysOnComplete()) };
    } finally {
      await client.send(new DeleteObjectCommand(target)).catch(() => {});
    }
  });
}

/**
 * Is a part that was sent again gone, so that whoever only knows the first cannot complete the upload? SeaweedFS keeps both
 * and takes either. Five requests on an object of our own, of which nothing is left.
 */
export async function probeReplacedParts(s3: S3Bucket): Promise<boolean> {
  const key = `${PROBE_PREFIX}${uniqueId()}`;
  const target = { Bucket: s3.bucket, Key: s3.nameOf(key) };
  return await s3.call('try an upload at', key, async () => {
    const isFenced = await withProbeUpload(s3, target, async (send, complete) => {
      const first = await send(PROBE);
      await send(`${PROBE} again`);
      return !(await complete(first));
    });
    if (!isFenced) await s3.client.send(new DeleteObjectCommand(target)).catch(() => {});
    return isFenced;
  });
}

/** An upload of one part to try things with. `complete`: false where the server refuses, and the upload stays. */
async function withProbeUpload(
  { client, onceClient }: S3Bucket,
  target: { readonly Bucket: string; readonly Key: string },
  act: (
    send: (Body: string) => Promise<string | undefined>,
    complete: (tag: string | undefined, condition?: PutCondition) => Promise<boolean>,
  ) => Promise<boolean>,
): Promise<boolean> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
  const upload = { ...target, UploadId: UploadId! };
  let isOpen = true;
  const send = async (Body: string) =>
    (await client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body }))).ETag;
  const complete = async (ETag: string | undefined, condition: PutCondition = {}) => {
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
    try {
      await onceClient.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload, ...condition }));
      isOpen = false;
      return true;
    } catch (error) {
      if (isConflict(error) || isPartRefused(error)) return false;
      // What does not know the condition would not have refused for it.
      if (isNotImplemented(error)) return true;
      throw error;
    }
  };
  try {
    return await act(send, complete);
  } finally {
    if (isOpen) await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
  }
}

const unnamed = () => strangeAnswer('the answers name no version (ETag) of what was written');
