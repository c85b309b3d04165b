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
import { isConflict, isNotImplemented } from './errors.ts';
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

/** Try them on an object of our own, `_probes/<id>`: nine to eleven requests, and nothing is left. */
export async function probeAbilities(s3: S3Bucket): Promise<S3Abilities> {
  const { client, onceClient } = s3;
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

  /** There is an object: a server that completes over it for `If-None-Match: *` ignores the condition. */
  async function obeysOnComplete(): Promise<boolean> {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
    const upload = { ...target, UploadId: UploadId! };
    try {
      const part = await client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: PROBE }));
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: part.ETag }] };
      await onceClient.send(
        new CompleteMultipartUploadCommand({ ...upload, MultipartUpload, IfNoneMatch: '*' }),
      );
      return false;
    } catch (error) {
      await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
      if (isConflict(error)) return true;
      if (isNotImplemented(error)) return false;
      throw error;
    }
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

const unnamed = () => strangeAnswer('the answers name no version (ETag) of what was written');
