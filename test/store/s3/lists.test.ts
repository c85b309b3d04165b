/** Lists that are none, or never end: an error, for what is not listed is not there. */
import { expect, test } from 'vitest';
import { place } from '../answering-s3.ts';
import { collect } from '../store-suite.ts';

const object = (name: string) =>
  `<Contents><Key>${name}</Key><LastModified>2026-03-01T04:05:06.789Z</LastModified><ETag>&quot;0a1b&quot;</ETag><Size>12</Size></Contents>`;
const page = (objects: string, next: string) =>
  `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>${objects}</ListBucketResult>`;
const whole = (objects: string) =>
  `<ListBucketResult><IsTruncated>false</IsTruncated>${objects}</ListBucketResult>`;
const upload = (name: string) =>
  `<Upload><Key>${name}</Key><UploadId>u</UploadId><Initiated>2026-03-01T04:05:06.789Z</Initiated></Upload>`;
const uploads = (more: string, isTruncated = true) =>
  `<ListMultipartUploadsResult><IsTruncated>${isTruncated}</IsTruncated>${more}</ListMultipartUploadsResult>`;
const MARKERS = '<NextKeyMarker>lake/day</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>';

/** Says this to the requests, and breaks off what would go on for ever. */
const saying = (text: (request: number) => string) =>
  place((response, request) => void (request > 20 ? response.destroy() : response.end(text(request))));

test.each([
  ['that gives one page for ever', () => page(object('lake/day'), 'on'), 'repeats an earlier page'],
  ['that gives empty pages for ever', () => page('', 'on'), 'repeats an earlier page'],
  [
    'that gives one page under new names for ever',
    (request: number) => page(object('lake/day'), `on-${request}`),
    'repeats an earlier page',
  ],
  ['of somebody else’s objects', () => whole(object('other/day')), 'not requested'],
  ['of another prefix', () => whole(object('lake/other')), 'not requested'],
])('a list %s is an error', async (_name, text, message) => {
  const { store, asked } = await saying(text);
  await expect(collect(store.list('day'))).rejects.toMatchObject({
    code: 's3-unavailable',
    message: expect.stringContaining(message),
  });
  expect(asked.length).toBeLessThan(5);
});

test.each([
  ['nothing at all', ''],
  ['a page for people', '<html><body>Sign in</body></html>'],
  ['an element without anything', '<ListBucketResult/>'],
])('%s is not an empty list', async (_name, text) => {
  const { store } = await saying(() => text);
  const isNone = { code: 's3-unavailable', message: expect.stringContaining('no list') };
  await expect(collect(store.list('day'))).rejects.toMatchObject(isNone);
  await expect(collect(store.listUploads('day'))).rejects.toMatchObject(isNone);
});

test.each([
  ['that gives one page for ever', uploads(upload('lake/day') + MARKERS), 'repeats an earlier page'],
  [
    'without an id',
    uploads(upload('lake/day').replace(/<UploadId>.*?<.UploadId>/, ''), false),
    'without an id',
  ],
  ['that goes on nowhere', uploads(upload('lake/day')), 'does not say how to continue'],
])('a list of uploads %s is an error', async (_name, text, message) => {
  const { store, asked } = await saying(() => text);
  await expect(collect(store.listUploads('day'))).rejects.toMatchObject({
    code: 's3-unavailable',
    message: expect.stringContaining(message),
  });
  expect(asked.length).toBeLessThan(5);
});

test('uploads of another prefix are passed over', async () => {
  const { store } = await saying(() => uploads(upload('other/day') + upload('lake/day'), false));
  expect((await collect(store.listUploads('day'))).map(({ key }) => key)).toEqual(['day']);
});

test('pages without objects are passed over', async () => {
  const pages = [page(object('lake/a'), '1'), page('', '2'), page('', '3'), whole(object('lake/b'))];
  const { store } = await saying((request) => pages[request - 1]!);
  expect((await collect(store.list(''))).map(({ key }) => key)).toEqual(['a', 'b']);
});
