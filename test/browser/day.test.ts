/** A vessel-day in a browser: its proof, its curves out of the Parquet, and what can be wrong with it. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import { detailKey, objectKey, receiptKey } from '../../src/lake/keys.ts';
import { readDetail, readReceipt, writeNote } from '../../src/lake/ledger/ledger.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { VesselDayAnswer } from '../../src/web/answers.ts';
import { browserForTests } from '../helpers/browser.ts';
import { makeJob } from '../helpers/day-server.ts';
import { hostileNames, unseenIn } from '../helpers/hostile-text.ts';
import { lakeReadings } from '../helpers/lake.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { DATE, mustExport, newLake, startTestService, VESSEL } from '../helpers/run.ts';
import { isLong } from '../helpers/tiers.ts';
import type { ServedPage } from '../helpers/web.ts';
import { servePage } from '../helpers/web.ts';

const ALL = { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] };
const WINDOWS = {
  dataset: 'statistics',
  vessels: [VESSEL],
  select: ['flat/{vessel}/*'],
  window: '10m',
  aggregations: ['mean', 'min', 'max', 'count'],
};
const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const NEXT: VesselDay = { ...DAY, date: addDays(DATE, 1) };
const SHAFT_POWER = `${VESSEL}/Shaft Power`;
/** As many as the demo makes in the long tier. */
const READINGS = isLong ? 250_000 : 100_000;
/** What the curve of one series may cost of an object. */
const MAX_SHARE = 0.15;

declare global {
  interface Window {
    // biome-ignore lint/suspicious/noExplicitAny: modules of the page, which are checked for themselves
    modules: any;
  }
}

/** What the page's own modules export. As a text: an import in a function would be the test runner's. */
const loadModules = (page: Page, names: readonly string[]) =>
  page.evaluate(
    `Promise.all(${JSON.stringify(names)}.map((name) => import('/page/day/' + name + '.js'))).then((all) => { window.modules = Object.assign({}, ...all); })`,
  );

const browser = await browserForTests();

describe.skipIf(browser === undefined)('a vessel-day', () => {
  let service: TestService;
  let lake: TestLake;
  let store: ObjectStore;
  let served: ServedPage;
  let answer: VesselDayAnswer;
  /** Time series id → its readings as DuckDB reads them: `<micros> <kind and value>`. */
  const truth = new Map<string, string[]>();

  beforeAll(async () => {
    service = await startTestService({ readingsPerDay: READINGS });
    lake = await newLake();
    await mustExport({ service, lakeUrl: lake.url, jobs: { measurements: ALL, windows: WINDOWS } });
    const metadata = { ...ALL, dataset: 'metadata' };
    // A snapshot is taken on the day itself: here it is noon of that day, whatever the machine's clock says.
    const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
    await mustExport({ service, lakeUrl: lake.url, jobs: { metadata }, overrides: { clock } });
    store = await openStore(lake.url, {});
    const select = ['flat/{vessel}/*'];
    served = await servePage({
      store,
      jobs: [
        makeJob({ select }),
        makeJob({ name: 'windows', dataset: 'statistics', select }),
        makeJob({ name: 'metadata', dataset: 'metadata', select }),
      ],
    });
    answer = await (await fetch(`${served.url}/api/jobs/measurements/days/${VESSEL}/${DATE}`)).json();
    for (const line of (await lakeReadings(`${lake.dir}/${objectKey(DAY)}`)).lines) {
      const [micros, id, , ...value] = line.split('\t') as [string, string, string];
      const readings = truth.get(id) ?? [];
      truth.set(id, readings);
      readings.push(`${micros} ${value.join('\t')}`);
    }
  });
  afterAll(async () => {
    await served.close();
    await store.close();
    await lake[Symbol.asyncDispose]();
    await service.close();
  });

  const idOf = (name: string) => answer.series.find((one) => one.name === name)!.id;
  const dayUrl = (day: VesselDay, query = '') =>
    `${served.url}/day/${day.job}/${day.vessel}/${day.date}${query}`;

  async function open(url: string) {
    const opened = await browser!.open(url);
    onTestFinished(opened.close);
    return opened;
  }

  const shown = (page: Page, ids: readonly string[]) =>
    page.locator(`.readings-box[data-shown="${ids.join(' ')}"]`).waitFor();

  async function savedCsv(page: Page): Promise<string[]> {
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const text = await readFile(await (await saving).path(), 'utf8');
    return text.trimEnd().split('\r\n');
  }

  test('a series of it costs at most 15 % of its bytes, and has the values that DuckDB reads', async () => {
    // The largest, which cost most, and some of the others, wherever in a page they begin.
    const bySize = [...truth.keys()].sort((a, b) => truth.get(b)!.length - truth.get(a)!.length);
    const ids = bySize.filter((_, i) => i < 10 || i % (isLong ? 1 : 8) === 0);
    const { page, faults } = await open(dayUrl(DAY));
    const object = answer.object!;
    await loadModules(page, ['day-parquet', 'ranged-file']);
    const read = await page.evaluate(
      async ([asked, url, sizeBytes, etag]) => {
        const { openDayParquet, readSeries, openRangedFile } = window.modules;
        const bits = new DataView(new ArrayBuffer(8));
        const valueText = (value: unknown) => {
          if (typeof value === 'bigint') return `L${value}`;
          if (typeof value !== 'number') return `J${value}`;
          bits.setFloat64(0, value);
          return `D${bits.getBigUint64(0).toString(16).padStart(16, '0')}`;
        };
        const found = [];
        for (const id of asked) {
          const file = openRangedFile({ url, sizeBytes, etag }, new AbortController().signal);
          const { times, values } = await readSeries(await openDayParquet(file), id);
          const readings = times.map((micros: number, i: number) => `${micros} ${valueText(values[i])}`);
          found.push({ id, readings, ...file.tally });
        }
        return found;
      },
      [ids, object.url, object.sizeBytes, object.etag] as const,
    );
    expect(read.length).toBeGreaterThan(25);
    for (const { id, readings } of read) expect(readings, id).toEqual(truth.get(id));
    const shares = read.map(({ bytes }) => bytes / object.sizeBytes).sort((a, b) => a - b);
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
    process.stdout.write(
      `one series of ${read.length}: median ${percent(shares[shares.length >> 1]!)}, most ${percent(shares.at(-1)!)} of ${object.sizeBytes} bytes, at most ${Math.max(...read.map(({ requests }) => requests))} requests\n`,
    );
    expect(shares.at(-1)).toBeLessThanOrEqual(MAX_SHARE);
    expect(Math.max(...read.map(({ requests }) => requests))).toBeLessThanOrEqual(10);
    expect(faults).toEqual([]);
  });

  test('says what was published and how it was proven, for eyes and ears', async () => {
    const { page, faults } = await open(dayUrl(DAY));
    const ofDay = page.getByRole('heading', { level: 1, name: `${VESSEL} on ${DATE}: measurements` });
    await ofDay.waitFor();
    const rows = answer.receipt!.rows.toLocaleString('en-US');
    await page
      .getByText(`${rows} readings in 24 of 24 hours; every hour has as many as the source counted.`)
      .waitFor();
    const chart = page.getByRole('img', { name: /every hour has as many/ });
    expect(await chart.locator('.hour').count()).toBe(24);
    await page.getByText('As a table', { exact: true }).click();
    expect(await page.locator('.hours tbody tr').count()).toBe(24);
    expect(await page.locator('dl').first().textContent()).toContain(
      'exact: every series has as many readings',
    );
    expect(await page.getByRole('link', { name: '↑ Coverage' }).getAttribute('href')).toMatch(
      new RegExp(`^/coverage/measurements\\?.*vessel=${VESSEL}&date=${DATE}`),
    );
    await page.getByRole('link', { name: `${addDays(DATE, 1)} →` }).click();
    await page.getByText('There are none: the day was never published.').waitFor();
    await page.getByText('due, and never published').waitFor();
    await page.getByRole('link', { name: `← ${DATE}` }).click();
    // The day that is left has such a link too.
    await ofDay.waitFor();
    await page.getByRole('link', { name: 'same day: windows' }).click();
    await page.getByRole('heading', { level: 1, name: `${VESSEL} on ${DATE}: windows` }).waitFor();
    expect(faults).toEqual([]);
  });

  test('a series is looked for, picked with the keyboard, drawn, told and saved', async () => {
    const { page, faults } = await open(dayUrl(DAY));
    const id = idOf(SHAFT_POWER);
    await page.getByRole('searchbox', { name: 'Look for a series' }).fill('shaft pow');
    const pick = page.locator('.series');
    await expect.poll(() => pick.count()).toBe(1);
    await pick.focus();
    await page.keyboard.press('Enter');
    await shown(page, [id]);
    expect(await pick.getAttribute('aria-pressed')).toBe('true');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-series'))).toBe(id);
    expect(new URL(page.url()).searchParams.getAll('s')).toEqual([id]);
    const expected = truth.get(id)!;
    const plot = page.locator('.plot');
    expect(await plot.getAttribute('aria-label')).toContain(
      `Shaft Power: ${expected.length.toLocaleString('en-US')} readings, first `,
    );
    await page.getByText(/ of \d+(\.\d+)? [kM]B read \(\d+\.\d %\) in \d+ requests/).waitFor();
    const csv = await savedCsv(page);
    expect(csv[0]).toBe('timestamp,time_series_id,name,column,value');
    expect(csv.slice(1)).toEqual(
      expected.map((reading) => {
        const [micros, value] = reading.split(' ') as [string, string];
        const double = Buffer.from(value.slice(1), 'hex');
        const number = value.startsWith('D') ? String(double.readDoubleBE()) : value.slice(1);
        const iso = new Date(Math.floor(Number(micros) / 1_000)).toISOString().slice(0, 19);
        return `${iso}.${micros.slice(-6)}Z,${id},${SHAFT_POWER},,${number}`;
      }),
    );
    expect(faults).toEqual([]);
  });

  test('zoom and series are in the address, and come back with it', async () => {
    const id = idOf(SHAFT_POWER);
    const other = answer.series.find(({ unit }) => unit === 'kn')!.id;
    const { page, faults } = await open(dayUrl(DAY, `?s=${id}`));
    await shown(page, [id]);
    await page.locator(`[data-series="${other}"]`).click();
    await shown(page, [id, other]);
    expect(await page.locator('.u-axis').count()).toBeGreaterThanOrEqual(3);
    const over = page.locator('.u-over');
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + box.width / 4, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await expect.poll(() => new URL(page.url()).searchParams.get('from')).not.toBeNull();
    const query = new URL(page.url()).searchParams;
    expect(Number(query.get('from')) / 3_600).toBeCloseTo(6, 0);
    expect(Number(query.get('to')) / 3_600).toBeCloseTo(12, 0);
    await page.reload();
    await shown(page, [id, other]);
    const csv = await savedCsv(page);
    const times = csv.slice(1).map((line) => line.slice(11, 19));
    expect(times.every((time) => time >= '05:30' && time <= '12:30')).toBe(true);
    const inSight = (of: string) =>
      truth.get(of)!.filter((reading) => {
        const second = Number(reading.split(' ')[0]) / 1e6 - Date.parse(`${DATE}T00:00:00Z`) / 1e3;
        return second >= Number(query.get('from')) && second < Number(query.get('to'));
      }).length;
    expect(times).toHaveLength(inSight(id) + inSight(other));
    // By keyboard: from reading to reading, and out again.
    await page.locator('.plot').focus();
    await page.keyboard.press('ArrowRight');
    const pointed = () => page.locator('.pointed').textContent();
    await expect.poll(pointed).toMatch(/Shaft Power: [\d,.]+ kW at 0[56]:\d\d:\d\d/);
    const first = await pointed();
    await page.keyboard.press('ArrowRight');
    await expect.poll(pointed).not.toBe(first);
    await page.keyboard.press('Escape');
    await expect.poll(() => new URL(page.url()).searchParams.get('from')).toBeNull();
    expect(faults).toEqual([]);
  });

  test('JSON values stand in a table; windows have a mean with its band; a snapshot has rows', async () => {
    const json = answer.series.find(
      ({ id, rows }) => rows > 0 && truth.get(id)![0]!.split(' ')[1]!.startsWith('J'),
    )!;
    const { page, faults } = await open(dayUrl(DAY, `?s=${json.id}`));
    await shown(page, [json.id]);
    await page.getByText('These values are no numbers: they stand in the table.').waitFor();
    const cell = await page.locator('.readings-table tbody tr').first().locator('td').last().textContent();
    expect(cell).toBe(truth.get(json.id)![0]!.replace(/^\d+ J/, ''));

    await page.goto(dayUrl({ ...DAY, job: 'windows' }, `?s=${idOf(SHAFT_POWER)}`));
    await shown(page, [idOf(SHAFT_POWER)]);
    expect(await page.locator('.plot').getAttribute('aria-label')).toMatch(/Shaft Power: 144 readings/);
    await page.getByLabel('What of the windows is shown').selectOption('count');
    await expect.poll(() => new URL(page.url()).searchParams.get('column')).toBe('count');
    await page.getByRole('rowheader', { name: 'Shaft Power (count)' }).waitFor();

    await page.goto(dayUrl({ ...DAY, job: 'metadata' }));
    await page.getByRole('searchbox', { name: 'Look for a series' }).fill('Shaft Power');
    await expect.poll(() => page.locator('.wide tbody tr').count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test('gaps, values that cannot be drawn, single readings, and a hundred thousand points', async () => {
    const { page } = await open(dayUrl(DAY));
    await loadModules(page, ['curve-points', 'curve-chart']);
    const found = await page.evaluate(async () => {
      const { gapMicros, pointsIn, aligned, summaryOf, standingAlone } = window.modules;
      const sight = { fromMicros: 0, toMicros: 1e9, pixels: 100 };
      const few = {
        times: [10, 20, 30, 500, 510, 900],
        values: [1, Number.NaN, 3, 4, Number.POSITIVE_INFINITY, 6],
      };
      const gap = gapMicros(few);
      const points = pointsIn(few, { ...sight, gap });
      const times = Float64Array.from({ length: 120_000 }, (_, i) => i * 8_000);
      const values = Float64Array.from(times, (_, i) =>
        i === 77_777 ? 1e6 : i === 33_333 ? -1e6 : Math.sin(i),
      );
      const many = pointsIn({ times, values }, { ...sight, gap: gapMicros({ times, values }) });
      const [union, a, b] = aligned([
        { times: [1, 2, 2], values: [1, null, 3] },
        { times: [2, 3], values: [5, 6] },
      ]);
      return {
        ...{ gap, points, summary: summaryOf(few), alone: [...standingAlone(points.values)] },
        many: { count: many.times.length, most: Math.max(...many.values), least: Math.min(...many.values) },
        union: [union, a.map(String), b.map(String)],
        isAscending: many.times.every((time: number, i: number) => i === 0 || time >= many.times[i - 1]),
      };
    });
    expect(found.gap).toBe(50);
    expect(found.points).toEqual({
      times: [10, 20, 30, 265, 500, 510, 705, 900],
      values: [1, null, 3, null, 4, null, null, 6],
    });
    expect(found.alone).toEqual([0, 2, 4, 7]);
    expect(found.summary).toEqual({ count: 6, low: 0, high: 5, odd: 2 });
    expect(found.many).toMatchObject({ most: 1e6, least: -1e6 });
    expect(found.many.count).toBeLessThanOrEqual(500);
    expect(found.isAscending).toBe(true);
    expect(found.union).toEqual([
      [1, 2, 2, 3],
      ['1', 'null', '3', 'undefined'],
      ['undefined', '5', 'undefined', '6'],
    ]);
  });

  test('a day that is published again meanwhile is shown anew', async () => {
    const own = await ownLake();
    const { page, faults } = await open(own.url);
    const [first, second] = own.ids;
    await page.locator(`[data-series="${first}"]`).click();
    await shown(page, [first!]);
    service.overlay.addReadings(first!, [
      { timestampMicros: Date.parse(`${DATE}T12:00:00Z`) * 1_000 + 1, valueText: '1.5' },
    ]);
    const before = (await readReceipt(own.store, DAY))!.rows;
    await mustExport({ service, lakeUrl: own.lakeUrl, args: { force: true } });
    await page.locator(`[data-series="${second}"]`).click();
    await page.getByText('The day was published again meanwhile: this is how it is now.').first().waitFor();
    await shown(page, [first!, second!]);
    expect(await page.locator('dl').first().textContent()).toContain(
      `Readings${(before + 1).toLocaleString('en-US')}`,
    );
    // The browser says by itself that an answer was 412.
    expect(faults.filter((fault) => !fault.includes('412'))).toEqual([]);
  });

  test('a failed day, an empty one, one that is damaged, and names that are no friends', async () => {
    const own = await ownLake();
    await writeNote(own.store, {
      ...{ noteVersion: 1, ...NEXT, state: 'refused', code: 'would-shrink', at: '2099-01-01T00:00:00.000Z' },
      message: `refused <img src=x onerror=alert(1)> ${hostileNames.all}`,
    });
    const { page, faults } = await open(own.url.replace(DATE, NEXT.date));
    await page.getByRole('heading', { name: 'Refused' }).waitFor();
    await page.getByText(`vessel-export run measurements --from ${NEXT.date}`).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(unseenIn((await page.locator('main').textContent())!.replaceAll('\n', ''))).toEqual([]);

    // Names of series and problems out of files that anybody may have written.
    const receipt = (await readReceipt(own.store, DAY))!;
    const detail = (await readDetail(own.store, receipt))!;
    const names = Object.values(hostileNames);
    const series = Object.fromEntries(
      Object.keys(detail.series!).map((id, i) => [
        id,
        `<script>alert(${i})</script>${names[i % names.length]}`,
      ]),
    );
    const text = jsonBytes({ ...detail, series });
    const sha256 = hash('sha256', text);
    await own.store.put(detailKey(DAY), gzipSync(text));
    const forged = { ...receipt, detail: { key: detailKey(DAY), sha256 }, version: '<b>0</b>' };
    await own.store.put(receiptKey(DAY), jsonBytes(forged));
    await page.goto(own.url);
    await page.locator('.series').first().click();
    await page.locator('.readings-box[data-shown]').waitFor();
    expect(await page.locator('.series-name').first().textContent()).toContain('<script>alert(');
    expect(await page.locator('main script, main b').count()).toBe(0);
    expect(unseenIn((await page.locator('main').textContent())!.replaceAll('\n', ''))).toEqual([]);

    const { bytes } = (await own.store.get(objectKey(DAY)))!;
    await own.store.put(objectKey(DAY), Buffer.from(bytes).fill(7, bytes.length - 300, bytes.length - 8));
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'The readings cannot be shown' }).waitFor();

    const empty = {
      ...receipt,
      rows: 0,
      series: 0,
      object: null,
      detail: null,
      firstTimestamp: null,
      lastTimestamp: null,
    };
    await own.store.put(receiptKey(DAY), jsonBytes({ ...empty, source: { ...receipt.source, rows: 0 } }));
    await page.reload();
    await page
      .getByText('There are none: the source has no readings of this day, and that is proven.')
      .waitFor();

    await page.goto(own.url.replace(VESSEL, '%3Cimg%20src%3Dx%3E'));
    await page.getByText("'<img src=x>' is no vessel").waitFor();
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  test('earlier versions of a table’s day are listed, and their readings shown', async () => {
    const env = { LAKE_LAYOUT: 'delta' };
    const own = await ownLake(env);
    const id = own.ids[0]!;
    const before = (await readReceipt(own.store, DAY))!.rows;
    service.overlay.addReadings(id, [
      { timestampMicros: Date.parse(`${DATE}T12:30:00Z`) * 1_000 + 1, valueText: '2.5' },
    ]);
    await mustExport({ service, lakeUrl: own.lakeUrl, env, args: { force: true } });
    const { page, faults } = await open(own.url);
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    expect(await page.locator('section', { hasText: 'Versions' }).locator('tbody tr').count()).toBe(2);
    await page.getByRole('link', { name: 'show its readings' }).click();
    await page.getByRole('heading', { name: 'Readings of version 1' }).waitFor();
    await page.locator(`[data-series="${id}"]`).click();
    await shown(page, [id]);
    expect(await savedCsv(page)).not.toContainEqual(expect.stringContaining('T12:30:00.000001Z'));
    await page.getByRole('link', { name: 'the day' }).click();
    // The version that is left has its series too.
    await page.getByRole('heading', { name: 'Readings', exact: true }).waitFor();
    await page.locator(`[data-series="${id}"]`).click();
    await shown(page, [id]);
    expect(await savedCsv(page)).toContainEqual(expect.stringContaining('T12:30:00.000001Z'));
    expect((await readReceipt(own.store, DAY))!.rows).toBe(before + 1);
    expect(faults).toEqual([]);
  });

  /** A small lake that a test may spoil. */
  async function ownLake(env: Record<string, string> = {}) {
    const own = await newLake();
    await mustExport({ service, lakeUrl: own.url, env });
    const ownStore = await openStore(own.url, {});
    const page = await servePage({ store: ownStore, jobs: [makeJob()] });
    onTestFinished(async () => {
      await page.close();
      await ownStore.close();
      await own[Symbol.asyncDispose]();
    });
    const { series }: VesselDayAnswer = await (
      await fetch(`${page.url}/api/jobs/measurements/days/${VESSEL}/${DATE}`)
    ).json();
    const ids = series.filter(({ rows }) => rows > 0).map(({ id }) => id);
    return { store: ownStore, lakeUrl: own.url, url: `${page.url}/day/measurements/${VESSEL}/${DATE}`, ids };
  }
});
