/** A vessel whose series get fewer: it waits, then says so until someone accepts it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { acceptCommand } from '../../src/cli/commands/accept.ts';
import { statusCommand } from '../../src/cli/commands/status.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { acceptedKey, detailKey, noteKey } from '../../src/lake/keys.ts';
import { commandRun } from '../cli/commands/command-run.ts';
import { lakeFiles, receiptOf, serviceNames } from '../helpers/lake.ts';
import type { RunExportOptions, TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_SERIES,
  mustExport,
  newLake,
  runExport,
  serviceForTests,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const NEXT = { ...DAY, date: addDays(DATE, 1) };
const THIRD = { ...DAY, date: addDays(DATE, 2) };
const HOUR_MS = 3_600_000;
const WAITED_MS = 2 * HOUR_MS + 36 * 60_000;

const service = await serviceForTests();
let ids: string[];

beforeAll(async () => {
  ids = [...(await serviceNames(service, [`flat/${VESSEL}/S*`])).keys()].sort();
});

afterEach(() => {
  service.faults = undefined;
  service.hiddenSeries.clear();
});

/** Credentials that may read so many of the series. */
function narrow(count: number): void {
  service.hiddenSeries.clear();
  for (const id of ids.slice(count)) service.hiddenSeries.add(id);
}

function clockAfter(ms: number) {
  return { ...systemClock, nowMs: () => Date.now() + ms };
}

function exportDay(lake: TestLake, date: string, afterMs = 0, more: Partial<RunExportOptions> = {}) {
  const args = { from: date, ...more.args };
  return runExport({ service, lakeUrl: lake.url, overrides: { clock: clockAfter(afterMs) }, ...more, args });
}

async function noteOf(lake: TestLake, day: typeof DAY) {
  const bytes = (await lakeFiles(lake.dir)).get(noteKey(day));
  return bytes && JSON.parse(bytes.toString());
}

const jobs = { measurements: FEW_SERIES };

test('receipt and detail say which series were selected, with readings or without', async () => {
  await using lake = await newLake();
  const names = await serviceNames(service, [`flat/${VESSEL}/S*`]);
  const other = await startTestService();
  other.overlay.removeReadings(ids[0]);
  try {
    await mustExport({ service: other, lakeUrl: lake.url });
  } finally {
    await other.close();
  }
  const receipt = await receiptOf(lake.dir, DAY);
  expect(receipt).toMatchObject({ selectedSeries: names.size, series: names.size - 1 });
  const detail = (await lakeFiles(lake.dir)).get(detailKey(DAY))!;
  expect(JSON.parse(gunzipSync(detail).toString()).series).toEqual(Object.fromEntries(names));
});

test('a day with fewer series waits, and a run says until when and what to do', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  const ran = await exportDay(lake, NEXT.date);
  expect(ran.code).toBe(1);
  expect(ran.results).toMatchObject([{ state: 'waiting', code: 'fewer-series', exported: false }]);
  const missing = ids.length - 2;
  const { message = '' } = ran.results[0]!;
  expect(message).toContain(`${missing} of the ${ids.length} series of ${DATE} are missing`);
  expect(message).toMatch(/From 20\d\d-\d\d-\d\dT[\d:.]+Z on/);
  expect(message).toContain(`vessel-export accept measurements ${VESSEL}`);
  expect(await receiptOf(lake.dir, NEXT)).toBeUndefined();
  expect(await noteOf(lake, NEXT)).toMatchObject({ state: 'waiting', code: 'fewer-series' });

  const soon = await exportDay(lake, NEXT.date, 2 * HOUR_MS);
  expect(soon.results).toMatchObject([{ state: 'waiting' }]);
  const { waiting } = await noteOf(lake, NEXT);
  expect(Date.parse(waiting.publishedFrom) - Date.parse(waiting.firstSeenAt)).toBe(155 * 60_000);
});

test('series that are back are no loss', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date);
  narrow(ids.length);
  const ran = await exportDay(lake, NEXT.date);
  expect(ran.results).toMatchObject([{ state: 'published' }]);
  expect(await receiptOf(lake.dir, NEXT)).not.toHaveProperty('remark');
  expect(await noteOf(lake, NEXT)).toBeUndefined();
});

test('a day that has waited is published with a warning, which the next day carries on', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date);
  const ran = await exportDay(lake, NEXT.date, WAITED_MS);
  expect(ran.code).toBe(0);
  expect(ran.results).toMatchObject([
    { state: 'published', warning: expect.stringContaining('are missing') },
  ]);
  expect(ran.stderr).toContain('published with a warning');
  const { remark } = (await receiptOf(lake.dir, NEXT))!;
  expect(remark).toMatchObject({
    kind: 'fewer-series',
    missing: ids.length - 2,
    since: NEXT.date,
    comparedWith: { date: DATE, series: ids.length },
  });
  expect(remark?.names).toHaveLength(3);
  expect(remark?.names[0]).toMatch(`${VESSEL}/S`);

  const next = await exportDay(lake, THIRD.date);
  expect(next.results).toMatchObject([{ state: 'published' }]);
  expect((await receiptOf(lake.dir, THIRD))?.remark).toEqual(remark);
});

test('still fewer series wait anew', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(4);
  await exportDay(lake, NEXT.date);
  narrow(2);
  const ran = await exportDay(lake, NEXT.date, WAITED_MS);
  expect(ran.results).toMatchObject([{ state: 'waiting' }]);
  narrow(4);
  await exportDay(lake, THIRD.date);
  narrow(2);
  expect((await exportDay(lake, THIRD.date, WAITED_MS)).results).toMatchObject([{ state: 'waiting' }]);
});

test('another failure while it waits does not begin the wait anew', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date);
  service.faults = ({ family }) =>
    family === 'metadata' ? { kind: 'garbage', body: '[{}]', contentType: 'application/json' } : undefined;
  expect((await exportDay(lake, NEXT.date, HOUR_MS)).results).toMatchObject([{ state: 'failed' }]);
  service.faults = undefined;
  expect((await exportDay(lake, NEXT.date, WAITED_MS)).results).toMatchObject([{ state: 'published' }]);
});

test('a clock that was ahead when the wait began does not prolong it', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date, 1_000 * HOUR_MS);
  await exportDay(lake, NEXT.date);
  expect((await exportDay(lake, NEXT.date, WAITED_MS)).results).toMatchObject([{ state: 'published' }]);
});

test('--allow-shrink does not wait', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  const ran = await exportDay(lake, NEXT.date, 0, { args: { allowShrink: true } });
  expect(ran.results).toMatchObject([{ state: 'published' }]);
  expect((await receiptOf(lake.dir, NEXT))?.remark).toMatchObject({ missing: ids.length - 2 });
});

test('who selects less means it', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  const less = { measurements: { ...FEW_SERIES, select: ['flat/{vessel}/Sp*'] } };
  const ran = await exportDay(lake, NEXT.date, 0, { jobs: less });
  expect(ran.results).toMatchObject([{ state: 'published' }]);
  expect(await receiptOf(lake.dir, NEXT)).not.toHaveProperty('remark');
});

test('settings beside select change nothing about what is compared', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  const other = { measurements: { ...FEW_SERIES, transport: 'json' } };
  expect((await exportDay(lake, NEXT.date, 0, { jobs: other })).results).toMatchObject([
    { state: 'waiting' },
  ]);
});

test('a published day does not give way to one with fewer series of the same selection', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  const before = await receiptOf(lake.dir, DAY);
  narrow(2);
  const force = { args: { force: true } };
  expect((await exportDay(lake, DATE, 0, force)).results).toMatchObject([{ state: 'waiting' }]);
  const ran = await exportDay(lake, DATE, WAITED_MS, force);
  expect(ran.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
  expect(ran.results[0]?.message).toContain(`${VESSEL}/S`);
  expect(await receiptOf(lake.dir, DAY)).toEqual(before);
});

/** `accept`; its exit code and what it printed. */
function accept(lake: TestLake, vessel = VESSEL) {
  return commandRun({ service, lakeUrl: lake.url, jobs }, (context) =>
    acceptCommand(context, 'measurements', [vessel], { json: true }),
  );
}

/** What status and verify say of warnings, in JSON and in text. */
async function said(lake: TestLake) {
  const dates = { from: DATE, to: addDays(DATE, 9) };
  const place = { lakeUrl: lake.url, jobs };
  const texts: string[] = [];
  const warnings: { code: string; message: string }[][] = [];
  for (const perform of [statusCommand, verifyCommand]) {
    const ran = await commandRun(place, (context) => perform(context, [], { ...dates, json: true }));
    expect(ran.code, ran.stderr).toBe(0);
    warnings.push(JSON.parse(ran.stdout).warnings);
    texts.push((await commandRun(place, (context) => perform(context, [], dates))).stdout);
  }
  return { texts, warnings };
}

test('status and verify show a warning until someone accepts it', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  expect((await said(lake)).warnings).toEqual([[], []]);
  narrow(2);
  await exportDay(lake, NEXT.date, 0, { args: { allowShrink: true } });
  await exportDay(lake, THIRD.date);
  const { texts, warnings } = await said(lake);
  for (const one of warnings) {
    expect(one).toMatchObject([{ ...THIRD, code: 'fewer-series' }]);
    expect(one[0]!.message).toContain(
      `of the ${ids.length} series of ${DATE} are missing since ${NEXT.date}`,
    );
  }
  for (const text of texts) expect(text).toContain(`vessel-export accept measurements ${VESSEL}`);

  const { code, stdout } = await accept(lake);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).vessels).toMatchObject([{ vessel: VESSEL, state: 'accepted', series: 2 }]);
  expect((await said(lake)).warnings).toEqual([[], []]);
  expect(JSON.parse((await accept(lake)).stdout).vessels).toMatchObject([{ state: 'accepted-before' }]);
  await exportDay(lake, addDays(DATE, 3));
  expect(await receiptOf(lake.dir, { ...DAY, date: addDays(DATE, 3) })).not.toHaveProperty('remark');
});

test('a warning ends when the series are back', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date, 0, { args: { allowShrink: true } });
  narrow(ids.length);
  await exportDay(lake, THIRD.date);
  expect((await said(lake)).warnings).toEqual([[], []]);
});

test('a day that waits is published at once when it is accepted; what is lost later is not', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(4);
  await exportDay(lake, NEXT.date);
  const message = `accepted: 4 series, where ${DATE} had ${ids.length}; 1 vessel-day that waited will be published when tried next`;
  const accepted = { state: 'accepted', series: 4, message };
  expect(JSON.parse((await accept(lake)).stdout).vessels).toMatchObject([accepted]);
  expect((await exportDay(lake, NEXT.date)).results).toMatchObject([{ state: 'published' }]);
  expect(await receiptOf(lake.dir, NEXT)).not.toHaveProperty('remark');
  narrow(3);
  expect((await exportDay(lake, THIRD.date)).results).toMatchObject([{ state: 'waiting' }]);
});

test('series that came back and are lost again are not those that were accepted', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date);
  await accept(lake);
  await exportDay(lake, NEXT.date);
  narrow(ids.length);
  await exportDay(lake, THIRD.date, 1_000);
  narrow(2);
  expect((await exportDay(lake, addDays(DATE, 3), 2_000)).results).toMatchObject([{ state: 'waiting' }]);
});

test('what was accepted and is damaged since accepts nothing, and stops nothing', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date, 0, { args: { allowShrink: true } });
  await accept(lake);
  await writeFile(join(lake.dir, acceptedKey('measurements', VESSEL)), '{');
  expect((await said(lake)).warnings).toMatchObject([[NEXT], [NEXT]]);
  expect((await exportDay(lake, THIRD.date)).results).toMatchObject([{ state: 'published' }]);
  expect(JSON.parse((await accept(lake)).stdout).vessels).toMatchObject([{ state: 'accepted' }]);
});

test('accept says so where there is nothing to accept', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  const nothing = await accept(lake);
  expect(nothing.code).toBe(1);
  expect(JSON.parse(nothing.stdout).vessels).toMatchObject([{ state: 'nothing-to-accept' }]);
  expect((await accept(lake, '../../etc')).code).toBe(2);
});

test('status shows a day that waits, and why', async () => {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  narrow(2);
  await exportDay(lake, NEXT.date);
  const ran = await commandRun({ lakeUrl: lake.url, jobs }, (context) =>
    statusCommand(context, [], { from: NEXT.date, to: THIRD.date, json: true }),
  );
  expect(JSON.parse(ran.stdout).days).toMatchObject([{ state: 'waiting', code: 'fewer-series' }]);
});

const METADATA = { metadata: { dataset: 'metadata', select: ['flat/{vessel}/S*'] } };

/** A snapshot of a day, so many hours after its midnight. */
function capture(lake: TestLake, date: string, hours: number) {
  const afterMs = Date.parse(`${date}T00:00:00Z`) + hours * HOUR_MS - Date.now();
  return exportDay(lake, date, afterMs, { jobs: METADATA });
}

test('a snapshot that would lose series waits in the same way, over midnight too', async () => {
  await using lake = await newLake();
  expect((await capture(lake, DATE, 12)).results).toMatchObject([{ state: 'published', rows: ids.length }]);
  narrow(4);
  const ran = await capture(lake, NEXT.date, 23);
  expect(ran.code).toBe(1);
  expect(ran.results).toMatchObject([{ state: 'waiting', code: 'fewer-series' }]);
  expect(ran.results[0]?.message).toContain(`${ids.length - 4} of the ${ids.length} series of ${DATE}`);
  expect((await capture(lake, THIRD.date, 1)).results).toMatchObject([{ state: 'waiting' }]);
  expect((await capture(lake, THIRD.date, 2)).results).toMatchObject([{ state: 'published', rows: 4 }]);
  const { remark } = (await receiptOf(lake.dir, { ...THIRD, job: 'metadata' }))!;
  expect(remark).toMatchObject({ missing: ids.length - 4, comparedWith: { date: DATE } });
  expect(remark?.names[0]).toMatch(`${VESSEL}/S`);
});

test('a snapshot of the same day that loses series stays refused', async () => {
  await using lake = await newLake();
  await capture(lake, DATE, 12);
  narrow(4);
  const afterMs = Date.parse(`${DATE}T13:00:00Z`) - Date.now();
  const ran = await exportDay(lake, DATE, afterMs, { jobs: METADATA, args: { force: true } });
  expect(ran.results).toMatchObject([{ state: 'refused', code: 'would-shrink' }]);
});
