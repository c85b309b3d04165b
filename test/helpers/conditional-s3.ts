/** A server that obeys conditions on completing uploads, made of one that does not and a proxy that looks before. */
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import type { FaultProxy, SeenRequest } from '../store/fault-proxy.ts';
import { startFaultProxy } from '../store/fault-proxy.ts';
import type { S3Address } from './radosgw.ts';
import { plainClient } from './s3-client.ts';

/** Between the proxy's look and the server's act a moment remains: for tests that do not race there. */
export async function startConditionalS3(s3: S3Address): Promise<FaultProxy> {
  const client = plainClient(s3);
  const proxy = await startFaultProxy(s3.endpoint, async (request) => {
    const { bucket, key, isComplete } = partsOf(request);
    const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
    if (!isComplete || (match === undefined && noneMatch === undefined)) return undefined;
    const head = await client
      .send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
      .catch(() => undefined);
    const bare = (tag: string | undefined) => tag?.replaceAll('"', '');
    const holds = noneMatch === undefined ? bare(head?.ETag) === bare(match) : head === undefined;
    return holds ? undefined : 412;
  });
  return proxy;
}

function partsOf({ method, url }: SeenRequest): { bucket: string; key: string; isComplete: boolean } {
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const [, bucket = '', ...rest] = decodeURIComponent(pathname).split('/');
  return { bucket, key: rest.join('/'), isComplete: method === 'POST' && searchParams.has('uploadId') };
}
