/** What a small vessel-day costs at the store: the HTTP requests between an export and a real S3 server, counted. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Layout } from '../../src/core/model/index.ts';
import { startConditionalS3 } from '../helpers/conditional-s3.ts';
import { serviceNames } from '../helpers/lake.ts';
import type { RunExportOptions, TestService } from '../helpers/run.ts';
import { DATE, mustExport, startTestService, VESSEL } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import type { FaultProxy, SeenRequest } from '../store/fault-proxy.ts';
import { startFaultProxy } from '../store/fault-proxy.ts';

const s3 = await s3ForTests();

/** The look after completing, which a server that answers with an ETag saves. */
const CEPH_16 = 1;
/** Planning reads the receipts that are there. */
const PLANNING = 1;

describe.skipIf(s3 === undefined)('requests to the store of a small vessel-day', () => {
  let service: TestService;
  let series: string;
  let noonMicros = Date.parse(`${DATE}T12:00:00Z`) * 1_000;
  beforeAll(async () => {
    service = await startTestService({ readingsPerDay: 1_000 });
    [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
  });
  afterAll(() => service.close());

  async function countRequests(
    proxy: FaultProxy,
    layout: Layout = 'plain',
  ): Promise<{ first: string[]; again: string[] }> {
    const { bucket, drop } = await s3!.newBucket();
    const env = {
      ...awsEnv(s3!),
      AWS_ENDPOINT_URL_S3: proxy.endpoint,
      LAKE_LAYOUT: layout,
    };
    const perform = async (args: RunExportOptions['args'] = {}) => {
      proxy.seen.length = 0;
      await mustExport({ service, lakeUrl: `s3://${bucket}/lake`, env, args });
      // A process opens a table once; what comes after the claim is the day's.
      const claimed = proxy.seen.findIndex(({ method, url }) => method === 'PUT' && /_checkpoints/.test(url));
      const seen = proxy.seen.filter(({ url }, i) => i > claimed || !url.includes('_delta_log'));
      return seen.filter(isOfVesselDay).map(kindOf).sort();
    };
    try {
      const first = await perform();
      service.overlay.addReadings(series, [{ timestampMicros: ++noonMicros, valueText: '1.5' }]);
      return { first, again: await perform({ force: true }) };
    } finally {
      await drop();
    }
  }

  test('12, of them one list, where uploads are completed conditionally', async () => {
    await using proxy = await startConditionalS3(s3!);
    const { first, again } = await countRequests(proxy);
    // GET: the receipt before and after the claim, that of the day before. POST: begin, complete, remove. PUT: claim, part,
    // draft, detail, receipt. HEAD: Ceph 16 names no version when it completes.
    expect(first).toEqual([
      ...['GET', 'GET', 'GET', 'HEAD', 'LIST'],
      ...Array(3).fill('POST'),
      ...Array(5).fill('PUT'),
    ]);
    expect(first.length - CEPH_16).toBeLessThanOrEqual(12);
    expect(again.filter((kind) => kind === 'LIST')).toHaveLength(1);
    expect(again).toHaveLength(13 + CEPH_16 + PLANNING);
  });

  test('three more in a table: its entry, and two looks after it; two where a day is replaced', async () => {
    await using proxy = await startConditionalS3(s3!);
    const { first, again } = await countRequests(proxy, 'delta');
    expect(first).toEqual([
      ...['GET', 'GET', 'GET', 'GET', 'HEAD', 'HEAD', 'LIST'],
      ...Array(3).fill('POST'),
      ...Array(6).fill('PUT'),
    ]);
    expect(again).toHaveLength(15 + CEPH_16 + PLANNING);
  });

  test('14 where they are not: the never-shrink guard looks for an object without a receipt', async () => {
    await using proxy = await startFaultProxy(s3!.endpoint);
    const { first, again } = await countRequests(proxy);
    expect(first.filter((kind) => kind === 'LIST')).toHaveLength(1);
    expect(first).toHaveLength(14);
    expect(again).toHaveLength(15 + PLANNING);
  });
});

/** Not of the day: planning lists the ledger and the claims once a run, and the store is probed once a process. */
function isOfVesselDay({ url }: SeenRequest): boolean {
  const text = decodeURIComponent(url);
  if (/\/_probes\/|\/_lake\.json/.test(text)) return false;
  return !text.includes('list-type') || text.includes(`date=${DATE}/vessel=${VESSEL}/`);
}

/** Name of a request as price lists have it. */
function kindOf({ method, url }: SeenRequest): string {
  const query = new URL(url, 'http://s3').searchParams;
  return method === 'GET' && (query.has('list-type') || query.has('uploads')) ? 'LIST' : method;
}
