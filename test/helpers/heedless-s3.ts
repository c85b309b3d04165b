/** An S3 server in memory that takes every write, whatever condition it names, but for those that it is told to heed. */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { startHttpServer } from './http-server.ts';

interface StoredObject {
  readonly bytes: Buffer;
  readonly modified: Date;
  /** Of the user, by the names of their headers. */
  readonly metadata: Readonly<Record<string, string>>;
}

interface OpenUpload {
  readonly metadata: StoredObject['metadata'];
  readonly parts: Map<number, Buffer>;
  /** Every one that was sent, by its tag. */
  readonly sent: Map<string, Buffer>;
}

/** `put`: both conditions on PUT; `completeIfAbsent`: `If-None-Match` on completing; `parts`: which part is named: the one sent last, or any that was sent. */
export interface Heeds {
  readonly put?: boolean;
  readonly completeIfAbsent?: boolean;
  readonly parts?: 'last' | 'any';
}

const NO_UPLOADS =
  '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>';
const etagOf = (bytes: Buffer) => `"${hash('md5', bytes)}"`;

interface Asked {
  readonly method: string;
  /** `/bucket/key` */
  readonly name: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type HeedlessS3 = Awaited<ReturnType<typeof startHeedlessS3>>;

export async function startHeedlessS3(heeds: Heeds = {}) {
  const objects = new Map<string, StoredObject>();
  const uploads = new Map<string, OpenUpload>();
  const asked: string[] = [];

  function put(name: string, bytes: Buffer, metadata: StoredObject['metadata']): string {
    objects.set(name, { bytes, modified: new Date(), metadata });
    return etagOf(bytes);
  }

  function answerBucket({ name, query, body }: Asked, response: ServerResponse): void {
    const root = `${name.replace(/\/$/, '')}/`;
    if (query.has('uploads')) return void xml(response, NO_UPLOADS);
    if (query.has('list-type')) return void xml(response, listText(root, query.get('prefix') ?? ''));
    for (const [, key] of body.toString().matchAll(/<Key>([^<]*)</g)) objects.delete(root + key);
    xml(response, '<DeleteResult/>');
  }

  function answerUpload({ method, name, query, headers, body }: Asked, response: ServerResponse): void {
    if (query.has('uploads')) {
      const id = `upload-${asked.length}`;
      uploads.set(id, { metadata: metadataOf(headers), parts: new Map(), sent: new Map() });
      const text = `<UploadId>${id}</UploadId>`;
      return void xml(response, `<InitiateMultipartUploadResult>${text}</InitiateMultipartUploadResult>`);
    }
    const id = query.get('uploadId') ?? '';
    const upload = uploads.get(id);
    if (upload === undefined) return void refuse(response, 404, 'NoSuchUpload');
    if (method === 'GET') return void xml(response, partsText(upload));
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      upload.sent.set(etagOf(body), body);
      return void response.writeHead(200, { etag: etagOf(body) }).end();
    }
    if (method === 'POST') {
      if (heeds.completeIfAbsent && isRefused(name, { 'if-none-match': headers['if-none-match'] }))
        return void refuse(response, 412, 'PreconditionFailed');
      if (heeds.parts && !takeNamed(upload, body.toString()))
        return void refuse(response, 400, 'InvalidPart');
    }
    uploads.delete(id);
    if (method === 'DELETE') return void response.writeHead(204).end();
    const etag = put(name, Buffer.concat([...upload.parts.values()]), upload.metadata);
    xml(response, `<CompleteMultipartUploadResult><ETag>${etag}</ETag></CompleteMultipartUploadResult>`);
  }

  function isRefused(
    name: string,
    { 'if-match': match, 'if-none-match': none }: IncomingHttpHeaders,
  ): boolean {
    const found = objects.get(name);
    if (match !== undefined) return found === undefined || etagOf(found.bytes) !== match;
    return none !== undefined && found !== undefined;
  }

  /** The parts that a completing call names become those of the upload. False where one was never sent, or is replaced. */
  function takeNamed({ parts, sent }: OpenUpload, body: string): boolean {
    const tags = [...body.matchAll(/<ETag>([^<]*)</g)].map(([, tag]) => tag!.replaceAll('&quot;', '"'));
    const named = tags.map((tag) => sent.get(tag.startsWith('"') ? tag : `"${tag}"`));
    if (
      named.some((each, at) => each === undefined || (heeds.parts === 'last' && each !== parts.get(at + 1)))
    )
      return false;
    for (const [at, each] of named.entries()) parts.set(at + 1, each!);
    return true;
  }

  function answerObject({ method, name, headers, body }: Asked, response: ServerResponse): void {
    if (method === 'DELETE') {
      objects.delete(name);
      return void response.writeHead(204).end();
    }
    if (method === 'PUT' && heeds.put && isRefused(name, headers))
      return void refuse(response, 412, 'PreconditionFailed');
    if (method === 'PUT')
      return void response.writeHead(200, { etag: put(name, body, metadataOf(headers)) }).end();
    const found = objects.get(name);
    if (found === undefined) return void refuse(response, 404, 'NoSuchKey');
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const bytes = from === undefined ? found.bytes : found.bytes.subarray(Number(from), Number(to) + 1);
    const range = `bytes ${from}-${Number(from) + bytes.length - 1}/${found.bytes.length}`;
    response.writeHead(from === undefined ? 200 : 206, {
      ...{ ...found.metadata, etag: etagOf(found.bytes), 'content-length': bytes.length },
      ...(from !== undefined && { 'content-range': range }),
      'last-modified': found.modified.toUTCString(),
    });
    response.end(method === 'HEAD' ? undefined : bytes);
  }

  function listText(root: string, prefix: string): string {
    const names = [...objects.keys()].filter((name) => name.startsWith(root + prefix)).sort();
    const contents = names.map((name) => {
      const { bytes, modified } = objects.get(name)!;
      const key = `<Key>${name.slice(root.length)}</Key>`;
      return `<Contents>${key}<LastModified>${modified.toISOString()}</LastModified><ETag>${etagOf(bytes)}</ETag><Size>${bytes.length}</Size></Contents>`;
    });
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`;
  }

  const { url: endpoint, close } = await startHttpServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = Buffer.concat(await request.toArray());
    const { pathname, searchParams: query } = new URL(url, 'http://s3');
    const name = decodeURIComponent(pathname);
    asked.push(`${method} ${name}`);
    const one = { method, name, query, headers, body };
    if (/^\/[^/]+\/?$/.test(name)) answerBucket(one, response);
    else if (query.has('uploads') || query.has('uploadId')) answerUpload(one, response);
    else answerObject(one, response);
  });
  return {
    endpoint,
    objects,
    asked,
    [Symbol.asyncDispose]: close,
  };
}

function partsText({ parts }: OpenUpload): string {
  const all = [...parts].map(
    ([number, bytes]) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${etagOf(bytes)}</ETag><Size>${bytes.length}</Size></Part>`,
  );
  return `<ListPartsResult><IsTruncated>false</IsTruncated>${all.join('')}</ListPartsResult>`;
}

function metadataOf(headers: IncomingHttpHeaders): StoredObject['metadata'] {
  const entries = Object.entries(headers).filter(([key]) => key.startsWith('x-amz-meta-'));
  return Object.fromEntries(entries) as StoredObject['metadata'];
}

function xml(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}
