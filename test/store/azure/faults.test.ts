/** What goes wrong on the way to Azure, and what an account with folders answers. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CommitUnknownError, FatalError, RetriableError } from '../../../src/core/errors.ts';
import { createAzureStore } from '../../../src/store/azure/azure.ts';
import type { AzureStoreOptions } from '../../../src/store/azure/client.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { ACCOUNT, type Azurite, azuriteForTests, containerOf, KEY } from '../../helpers/azurite.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { type FaultProxy, startFaultProxy } from '../fault-proxy.ts';
import { bytes, collect, expectFault, keysOf, textOf } from '../store-suite.ts';

const start = azuriteForTests();
const busy = { kind: 'answer', status: 503, body: '' } as const;

describe.skipIf(start === undefined)('faults on the way to Azure', () => {
  let azurite: Azurite;
  let line: FaultProxy;
  let container: string;
  beforeAll(async () => {
    azurite = await start!();
    line = await startFaultProxy(azurite.origin);
    container = await azurite.newContainer();
  });
  afterAll(async () => {
    await line?.[Symbol.asyncDispose]();
    await azurite?.stop();
  });

  function open(more: Partial<AzureStoreOptions> = {}) {
    const store = createAzureStore({
      ...{ account: ACCOUNT, endpoint: `${line.endpoint}/${ACCOUNT}`, secret: { key: KEY }, container },
      ...{ prefix: 'lake', url: `az://${container}/lake`, ...more },
    });
    onTestFinished(() => store.close());
    return store;
  }
  const puts = (request: { readonly method: string }) => request.method === 'PUT';

  test('an answer that is lost is asked for again, and a conditional write knows its own bytes', async () => {
    const store = open();
    line.script(puts, { kind: 'lose-answer' }, busy);
    const version = await store.putIf('claim', bytes('mine'), null);
    expect(version).toBe((await store.head('claim'))?.version);
    line.script(puts, { kind: 'lose-answer' });
    expect(await store.putIf('claim', bytes('again'), version!)).toBeDefined();
    expect(await store.putIfAbsent('claim', bytes('theirs'))).toBe(false);
  });

  test('a body that is damaged on its way is sent again', async () => {
    const store = open();
    line.script(puts, { kind: 'damage' });
    await store.put('small', bytes('whole'));
    const upload = await store.begin('parts', randomUUID());
    line.script(puts, { kind: 'damage' });
    const part = await store.append(upload, 1, bytes('a part'));
    await store.publish(upload, [part], null);
    expect([await textOf(store, 'small'), await textOf(store, 'parts')]).toEqual(['whole', 'a part']);
    line.script(({ method }) => method === 'GET', { kind: 'cut-answer' });
    expect(await textOf(store, 'parts')).toBe('a part');
  });

  test('of a publication whose answer is lost the outcome is unknown, and the object tells', async () => {
    const store = open();
    const upload = await store.begin('day', randomUUID());
    const parts = [await store.append(upload, 1, bytes('a day'))];
    const completes = ({ url }: { readonly url: string }) => url.includes('comp=blocklist');
    line.script(completes, busy);
    await expectFault(() => store.publish(upload, parts, null), CommitUnknownError, 'complete-unknown');
    expect(await store.publishedBy(upload, parts)).toBe(false);
    line.script(completes, { kind: 'lose-answer' });
    await expectFault(() => store.publish(upload, parts, null), CommitUnknownError, 'complete-unknown');
    expect(await store.publishedBy(upload, parts)).toBe(true);
    // A page of somebody in between.
    const next = await store.begin('day', randomUUID());
    const more = [await store.append(next, 1, bytes('another'))];
    line.script(completes, { kind: 'answer', status: 200, body: '<html>sign in</html>' });
    await expectFault(() => store.publish(next, more), CommitUnknownError, 'complete-unknown');
  });

  test('a publication that arrives late, when its upload was abandoned, changes nothing', async () => {
    const store = open();
    for (const before of [undefined, 'there before']) {
      const key = randomUUID();
      if (before !== undefined) await store.put(key, bytes(before));
      const upload = await store.begin(key, randomUUID());
      const parts = [await store.append(upload, 1, bytes('late'))];
      line.script(({ url }) => url.includes('comp=blocklist'), { kind: 'late', afterMs: 300 });
      await expectFault(() => store.publish(upload, parts), CommitUnknownError, 'complete-unknown');
      await store.abandon(upload);
      await line.delivered();
      const found = await store.get(key);
      expect(found && Buffer.from(found.bytes).toString()).toBe(before);
      expect(await collect(store.listUploads(key))).toEqual([]);
    }
  });

  test('the mark of an upload that is being dropped is no object, and goes when its maker has died', async () => {
    const store = open();
    const blob = containerOf(azurite.endpoint, container).getBlockBlobClient('lake/marked');
    await blob.upload('', 0, { metadata: { vesselexportdiscarded: '1' } });
    expect(await store.head('marked')).toBeUndefined();
    expect(await store.get('marked')).toBeUndefined();
    expect(await keysOf(store, 'marked')).toEqual([]);
    expect(await collect(store.listUploads('marked'))).toEqual([]);
    expect(await blob.exists()).toBe(false);
  });

  test('what is refused or out of reach is said by its consequence, and no secret is in it', async () => {
    const wrong = Buffer.from('hush-hush').toString('base64');
    const store = open({ secret: { key: wrong } });
    const refused = await expectFault(() => store.get('a'), FatalError, /bad-cred|no-perm/);
    expect(refused.message).not.toContain(wrong);
    const sas = 'sv=2026-01-01&sr=c&sp=r&se=2036-01-01&sig=hush%2Bhush';
    const signed = open({ secret: { sas } });
    const unsigned = await expectFault(() => signed.put('a', bytes('x')), FatalError, /bad-cred|no-perm/);
    expect(unsigned.message).not.toMatch(/hush|sv=/);
    expect(JSON.stringify(unsigned)).not.toMatch(/hush/);
    expect(unsigned.cause).toBeUndefined();
    const nowhere = open({ container: 'nowhere' });
    await expectFault(() => collect(nowhere.list('')), FatalError, 'no-bucket');
    const nobody = open({ endpoint: 'http://127.0.0.1:1/account', maxAttempts: 2 });
    await expectFault(() => nobody.get('a'), RetriableError, 'store-unavailable');
    const scoped = open({ encryptionScope: 'ours' });
    await expectFault(() => scoped.put('a', bytes('x')), FatalError, 'not-encrypted');
  });

  test('a list that is none, or of something else, is an error and not an empty lake', async () => {
    const store = open({ maxAttempts: 1 });
    const lists = ({ url }: { readonly url: string }) => url.includes('comp=list');
    const other = `<?xml version="1.0"?><EnumerationResults ContainerName="x"><Blobs><Blob><Name>elsewhere</Name><Properties><Etag>0x1</Etag></Properties></Blob></Blobs><NextMarker/></EnumerationResults>`;
    for (const body of ['<html>sign in</html>', '', other]) {
      line.script(lists, { kind: 'replace-answer', status: 200, body });
      await expectFault(() => collect(store.list('')), RetriableError, 'store-unavailable');
    }
  });
});

test('where folders are things of their own, they are no objects, and the order is that of bytes', async () => {
  const blob = (name: string, more = '') =>
    `<Blob><Name>lake/${name}</Name><Properties><Last-Modified>Mon, 05 Jan 2026 00:00:00 GMT</Last-Modified><Etag>0x1</Etag><Content-Length>1</Content-Length></Properties>${more}</Blob>`;
  const folder = (name: string) => blob(name, '<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>');
  // As Microsoft describes it: what lies in a folder comes before what its name is the beginning of.
  const pages = [
    [blob('_lake.json'), folder('m'), folder('m/x'), blob('m/x/1')],
    [blob('m/x/2'), folder('m/x-y'), blob('m/x-y/1'), folder('m-h')],
    [blob('m-h/1'), blob('z')],
  ];
  const server = await startHttpServer(async (request, response) => {
    const at = Number(new URL(request.url!, 'http://x').searchParams.get('marker') ?? 0);
    const next = at + 1 < pages.length ? String(at + 1) : '';
    const body = `<?xml version="1.0"?><EnumerationResults ContainerName="lake"><Blobs>${pages[at]!.join('')}</Blobs><NextMarker>${next}</NextMarker></EnumerationResults>`;
    response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
  });
  onTestFinished(() => server.close());
  const store = await openStore('az://lake/lake', {
    ...{
      AZURE_STORAGE_ACCOUNT: ACCOUNT,
      AZURE_STORAGE_KEY: KEY,
      AZURE_STORAGE_ENDPOINT: `${server.url}/${ACCOUNT}`,
    },
  });
  onTestFinished(() => store.close());
  expect(await keysOf(store, '')).toEqual(['_lake.json', 'm-h/1', 'm/x-y/1', 'm/x/1', 'm/x/2', 'z']);
});
