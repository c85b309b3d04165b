import type { Readable } from 'node:stream';
import type { BlobDownloadResponseParsed, BlobGetPropertiesResponse } from '@azure/storage-blob';
import { type ReadObject, readUpTo, strangeAnswer } from '../remote.ts';
import { MAX_WHOLE_BYTES, tooLargeToRead, type Version } from '../store.ts';
import type { AzureContainer } from './client.ts';
import { faultOf, isMissing } from './errors.ts';

type Named<Answer> = Answer & { readonly etag: Version };
type NamedProperties = Named<BlobGetPropertiesResponse>;

/** Metadata of a blob that is there for a moment only, so that the blocks below its name go: `uploads.ts`. No reader of ours sees it. */
export const DISCARDED = 'vesselexportdiscarded';
/** Metadata by which an account with folders marks one among its blobs. */
const FOLDER = 'hdi_isfolder';

type Metadata = Readonly<Record<string, string>> | undefined;

/** Azure's names of metadata keep their case or not, by the way they are read. */
export function metadataOf(metadata: Metadata, name: string): string | undefined {
  return Object.entries(metadata ?? {}).find(([found]) => found.toLowerCase() === name)?.[1];
}

/** Is it no object of anybody's: a folder, or what `DISCARDED` marks? */
export function isHidden(metadata: Metadata): boolean {
  return metadataOf(metadata, FOLDER) === 'true' || metadataOf(metadata, DISCARDED) !== undefined;
}

export async function readObject(azure: AzureContainer, key: string): Promise<ReadObject | undefined> {
  const name = azure.nameOf(key);
  return await azure.call('read', key, async () => {
    const answer = await download(azure, name, 0, undefined);
    if (answer === undefined || answer === 'beyond the end') return undefined;
    const { bytes, sizeBytes } = await bodyOf(answer, MAX_WHOLE_BYTES);
    if (sizeBytes > MAX_WHOLE_BYTES) throw tooLargeToRead(key, sizeBytes);
    return { bytes, version: answer.etag };
  });
}

export async function readRange(
  azure: AzureContainer,
  key: string,
  fromByte: number,
  toByte: number,
): Promise<Uint8Array | undefined> {
  const name = azure.nameOf(key);
  if (toByte <= fromByte) return (await headObject(azure, key)) === undefined ? undefined : new Uint8Array(0);
  const asked = `${fromByte}-${toByte - 1}`;
  const another = (found: string) => strangeAnswer(`found ${found}, expected bytes ${asked}`);
  return await azure.call('read', key, async () => {
    const answer = await download(azure, name, fromByte, toByte - fromByte);
    if (answer === undefined) return undefined;
    if (answer === 'beyond the end') return new Uint8Array(0);
    const { bytes, sizeBytes } = await bodyOf(answer, toByte - fromByte);
    const range = answer.contentRange ?? 'no range';
    const [, first, last] = /^bytes (\d+)-(\d+)\//.exec(range) ?? [];
    const isAsked = Number(first) === fromByte && Number(last) < toByte;
    if (!isAsked || Number(last) - fromByte + 1 !== sizeBytes)
      throw another(`${sizeBytes} bytes as '${azure.clean(range)}'`);
    return bytes;
  });
}

async function download(
  azure: AzureContainer,
  name: string,
  fromByte: number,
  sizeBytes: number | undefined,
): Promise<Named<BlobDownloadResponseParsed> | 'beyond the end' | undefined> {
  try {
    // A body that breaks off is asked for as a whole again, so that all of it is of one version.
    const answer = await azure.blob(name).download(fromByte, sizeBytes, { maxRetryRequests: 0 });
    const { etag, metadata } = answer;
    if (etag && !isHidden(metadata)) return answer as Named<typeof answer>;
    (answer.readableStreamBody as Readable).destroy();
    if (etag) return undefined;
    throw namesNoVersion();
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (faultOf(error).status === 416) return 'beyond the end';
    throw error;
  }
}

async function bodyOf(answer: BlobDownloadResponseParsed, maxBytes: number) {
  const { contentLength = 0 } = answer;
  const body = answer.readableStreamBody as Readable;
  if (contentLength > maxBytes) {
    body.destroy();
    return { bytes: new Uint8Array(0), sizeBytes: contentLength };
  }
  const read = await readUpTo(body, maxBytes);
  if (read.sizeBytes !== contentLength)
    throw strangeAnswer(`the answer has ${read.sizeBytes} bytes and says ${contentLength}`);
  return read;
}

/** Azure names the version of each blob that it gives out. */
export const namesNoVersion = () => strangeAnswer('the answer names no version (ETag)');

export async function headObject(
  azure: AzureContainer,
  key: string,
): Promise<{ sizeBytes: number; version: Version } | undefined> {
  const head = await askHead(azure, key);
  return head && { sizeBytes: head.contentLength ?? 0, version: head.etag };
}

/** All that the store says of an object, undefined when there is none. */
export async function askHead(azure: AzureContainer, key: string): Promise<NamedProperties | undefined> {
  const name = azure.nameOf(key);
  return await azure.call('read', key, async () => {
    try {
      const head = await azure.blob(name).getProperties();
      const { etag } = head;
      if (!etag) throw namesNoVersion();
      return isHidden(head.metadata) ? undefined : { ...head, etag };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  });
}
