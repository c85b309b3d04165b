/** The short way of listing: the same as the SDK finds, or the SDK. */
import { expect, test } from 'vitest';
import { place, refuse } from '../answering-s3.ts';
import { collect } from '../store-suite.ts';

const object = (name: string, more = '') =>
  `<Contents><Key>${name}</Key><LastModified>2026-03-01T04:05:06.789Z</LastModified><ETag>&quot;0a1b&quot;</ETag><Size>12</Size>${more}</Contents>`;
const pageOf = (objects: readonly string[], next?: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><KeyCount>${objects.length}</KeyCount><IsTruncated>${next !== undefined}</IsTruncated>${next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`}${objects.join('')}</ListBucketResult>\n`;

/** A store that gives these pages, one a request, and again from the first one. */
const giving = (pages: readonly string[], more = {}) =>
  place((response, request) => void response.end(pages[(request - 1) % pages.length]), more);
const askedBySdk = ({ asked }: Awaited<ReturnType<typeof giving>>) =>
  asked.map(({ headers }) => headers['amz-sdk-request'] !== undefined);

const PAGES = [
  pageOf([object('lake/a&amp;b&#x27;c&#228;', '<Owner><ID>x</ID></Owner>'), object('lake/d/')], 'n&lt;1=+/'),
  pageOf([object('lake/e &gt;.json'), object('lake/.hidden')]),
];

test('pages are those of the SDK, asked for as it asks', async () => {
  const short = await giving(PAGES);
  const long = await giving(PAGES, { maxAttempts: 1 });
  const found = await collect(short.store.list(''));
  expect(found.map(({ key }) => key)).toEqual(["a&b'cä", 'e >.json']);
  expect(found[0]).toMatchObject({
    sizeBytes: 12,
    tag: '"0a1b"',
    modifiedMs: Date.UTC(2026, 2, 1, 4, 5, 6, 789),
  });
  expect(await collect(long.store.list(''))).toEqual(found);
  expect(askedBySdk(short)).toEqual([false, false]);
  expect(askedBySdk(long)).toEqual([true, true]);
  const questions = [short, long].map(({ asked }) =>
    asked.map(({ url }) => {
      const { pathname, searchParams } = new URL(url, 'http://any');
      return [pathname.replace(/\/$/, ''), Object.fromEntries([...searchParams].sort())];
    }),
  );
  expect(questions[0]).toEqual(questions[1]);
  expect(short.asked[1]!.url).toContain('continuation-token=n%3C1%3D%2B%2F');
});

test('an empty list is one request', async () => {
  const empty = await giving([pageOf([])]);
  expect(await collect(empty.store.list(''))).toEqual([]);
  expect(askedBySdk(empty)).toEqual([false]);
});

test.each([
  ['in other spellings', pageOf([object('<![CDATA[lake/a]]>')])],
  ['with an entity of its own', pageOf([object('lake/a').replaceAll('&quot;', '&mine;')])],
  ['with a character that there is not', pageOf([object('lake/a&#x110000;')])],
  [
    'of objects in another spelling, which are not counted',
    pageOf([object('lake/a'), object('lake/b').replace('<Contents>', '<Contents kind="new">')]).replace(
      /<KeyCount>.*?<.KeyCount>/,
      '',
    ),
  ],
  ['with fewer than it counts', pageOf([object('lake/a')]).replace('<KeyCount>1<', '<KeyCount>2<')],
  ['that goes on nowhere', pageOf([object('lake/a')], '').replace(/<Next.*?Token>.*?Token>/, '')],
])('a list %s is the SDK\u2019s, and so are all after it', async (_, page) => {
  const odd = await giving([page]);
  for (let n = 0; n < 2; n++) await collect(odd.store.list('')).catch(() => {});
  expect(askedBySdk(odd)).toEqual([false, true, true]);
});

test('a list that goes on nowhere is not taken for a whole one', async () => {
  const page = pageOf([object('lake/a')], '').replace(/<Next.*?Token>.*?Token>/, '');
  const odd = await giving([page]);
  await expect(collect(odd.store.list(''))).rejects.toMatchObject({ code: 's3-unavailable' });
});

test('a list that is cut off, or refused, is asked for again', async () => {
  const cut = await place((response, request) => {
    if (request > 1) return void response.end(pageOf([object('lake/a')]));
    response.writeHead(200, { 'content-length': 1_000 });
    response.write(pageOf([]).slice(0, -30), () => response.destroy());
  });
  expect((await collect(cut.store.list(''))).map(({ key }) => key)).toEqual(['a']);
  const gone = await place((response) => refuse(response, 404, 'NoSuchBucket'));
  await expect(collect(gone.store.list(''))).rejects.toMatchObject({ code: 'no-bucket' });
});
