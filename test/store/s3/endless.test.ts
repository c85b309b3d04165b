/** Answers in chunks, without a length: they may come for ever, and fill nobody's memory. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { type Place, place } from '../answering-s3.ts';

const CHUNK = Buffer.alloc(1 << 20, ' ');
const UPLOAD = { key: 'day', uploadId: 'an-upload', nonce: 'a-nonce' };
const PART = { partNumber: 1, sizeBytes: 1, sha256: '', tag: 'e' };

/** So many MiB: a client that takes all of more than a bound has none. */
async function sendChunks(response: ServerResponse, status: number, chunks: number): Promise<void> {
  response.writeHead(status, { etag: '"e"' });
  const body = Readable.from(Array.from({ length: chunks }, () => CHUNK));
  await pipeline(body, response).catch(() => {});
}

const firstOf = async (listed: AsyncIterable<unknown>) => {
  for await (const one of listed) return one;
};
const CALLS: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  'a list': ({ store }) => firstOf(store.list('a')),
  'a list of uploads': ({ store }) => firstOf(store.listUploads('a')),
  'a new upload': ({ store }) => store.begin('a', 'a-nonce'),
  'parts of an upload': ({ store }) => store.adopt(UPLOAD, [PART], 'another'),
};

test.each(Object.keys(CALLS).flatMap((name) => [200, 403].map((status) => [name, status] as const)))(
  'the answer about %s (%i) is given up',
  async (name, status) => {
    const sent: Promise<void>[] = [];
    const endings: boolean[] = [];
    const found = await place(
      (response) => {
        response.once('close', () => endings.push(response.writableFinished));
        sent.push(sendChunks(response, status, 40));
      },
      { maxAttempts: 1 },
    );
    await expect(CALLS[name]!(found)).rejects.toThrow('check proxies between this machine and the store');
    await Promise.all(sent);
    expect(endings).toEqual([false]);
  },
);

test('an object larger than what is read whole is given up, and a range longer than asked for', async () => {
  const sent: Promise<void>[] = [];
  const send = (response: ServerResponse) => void sent.push(sendChunks(response, 200, 66));
  const { store } = await place(send, { maxAttempts: 1 });
  await expect(store.get('a')).rejects.toMatchObject({ code: 'damaged-file' });
  await expect(store.getRange('a', 0, 10)).rejects.toThrow('expected bytes 0-9');
  await Promise.all(sent);
});
