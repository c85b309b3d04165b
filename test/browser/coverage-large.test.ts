/** The map at its full size: 1,000 vessels × 365 days from a ledger, 4,000 × 365 and eleven years besides. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalStore } from '../../src/store/local/local.ts';
import { browserForTests } from '../helpers/browser.ts';
import type { MadeUpLedger } from '../helpers/made-up-ledger.ts';
import { MADE_UP_JOB, writeMadeUpFolder } from '../helpers/made-up-ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import type { TempFolder } from '../helpers/temp.ts';
import { newTempFolder } from '../helpers/temp.ts';
import type { ServedPage } from '../helpers/web.ts';
import { servePage } from '../helpers/web.ts';
import { announced, answerOf, openCoverage, openMadeUp, whereIs } from './coverage-eyes.ts';

const browser = await browserForTests();
/** Of a processor's time, ten times what it takes here: to open the page, and for a frame of scrolling. */
const [MAX_OPENING_MS, MAX_FRAME_MS] = [2_000, 40];
/** What is measured is said; what is asserted is what others who share the machine hardly change. */
const report = (text: string) => process.stderr.write(`coverage map: ${text}\n`);

describe.skipIf(browser === undefined)('the coverage map at its full size', () => {
  let folder: TempFolder;
  let made: MadeUpLedger;
  let served: ServedPage;
  beforeAll(async () => {
    folder = await newTempFolder();
    made = await writeMadeUpFolder(folder.path, {});
    const store = createLocalStore(folder.path);
    served = await servePage({ store, jobs: [MADE_UP_JOB], clock: createManualClock(made.nowMs) });
  }, 1_200_000);
  afterAll(async () => {
    await served.close();
    await folder.remove();
  }, 600_000);
  const address = () => `${served.url}/coverage/measurements`;

  test('1,000 × 365 is drawn and can be used soon after the answer', async () => {
    await using map = await openCoverage(browser!, address());
    const { page, faults } = map;
    // Anew, with the answer that the server still has, and noting when the map was in sight.
    await page.addInitScript(() => {
      const look = () => {
        if (performance.getEntriesByName('coverage:drawn').length === 0) requestAnimationFrame(look);
        else requestAnimationFrame(() => performance.mark('seen'));
      };
      look();
    });
    const worked = await watchWork(page);
    await page.reload();
    await expect
      .poll(() => page.evaluate(() => performance.getEntriesByName('seen').length))
      .toBeGreaterThan(0);
    const workedMs = await worked();
    const times = await page.evaluate(() => {
      const answer = performance
        .getEntriesByType('resource')
        .find(({ name }) => name.includes('/api/jobs/')) as PerformanceResourceTiming;
      const since = (mark: string) => performance.getEntriesByName(mark)[0]!.startTime - answer.responseEnd;
      return { drawnMs: since('coverage:drawn'), seenMs: since('seen'), bytes: answer.encodedBodySize };
    });
    const [drawnMs, seenMs] = [Math.round(times.drawnMs), Math.round(times.seenMs)];
    report(`drawn ${drawnMs} ms, in sight ${seenMs} ms after the answer of ${times.bytes} bytes`);
    report(`${workedMs} ms of a processor from the reload on`);
    // How long it waits for a processor is up to others.
    expect(workedMs).toBeGreaterThan(0);
    expect(workedMs).toBeLessThan(MAX_OPENING_MS);
    expect(times.bytes).toBeLessThan(400_000);
    // It is the ledger, and it answers to keys.
    await page.locator('.cov-scroller').focus();
    await page.keyboard.press('Control+End');
    const last = made.vessels.at(-1)!;
    await announced(page, new RegExp(`^${last}, 2026-06-30: not due$`));
    for (const [state, total] of Object.entries(made.totals))
      await expect
        .poll(() => page.locator(`[data-state="${state}"] .cov-count`).textContent())
        .toBe(total.toLocaleString('en-US'));
    expect(faults).toEqual([]);
  });

  test.for(['year', 'month', 'days'])('scrolling is smooth: %s', async (zoom) => {
    await using map = await openCoverage(browser!, `${address()}?zoom=${zoom}`);
    await expectSmooth(map.page, zoom);
    expect(map.faults).toEqual([]);
  });

  test('4,000 × 365 works', async () => {
    const vessels = Array.from({ length: 4_000 }, (_, i) => `IMO${9_000_000 + i}`);
    await using map = await openMadeUp(browser!, address(), answerOf(vessels, 365, { '3999 364': 'failed' }));
    const { page } = map;
    const drawnMs = await page.evaluate(() => {
      const [answer] = performance.getEntriesByName('coverage:answer');
      return performance.getEntriesByName('coverage:drawn')[0]!.startTime - answer!.startTime;
    });
    report(`4,000 × 365: drawn ${Math.round(drawnMs)} ms after it was read`);
    await page.locator('.cov-scroller').focus();
    await page.keyboard.press('n');
    await announced(page, 'IMO9003999, 2025-12-31: failed');
    expect((await whereIs(page, '--state-failed'))?.pixels).toBeGreaterThan(0);
    await expectSmooth(page, '4,000 × 365');
    await page.getByRole('button', { name: 'table' }).click();
    await expect.poll(() => page.locator('.cov-table tbody tr').count()).toBe(100);
    expect(map.faults).toEqual([]);
  });

  test('one failed day in eleven years is seen, and no larger than it is', async () => {
    const vessels = Array.from({ length: 20 }, (_, i) => `IMO${9_000_000 + i}`);
    const answer = answerOf(vessels, 4_018, { '7 2000': 'failed' });
    await using map = await openMadeUp(browser!, address(), answer);
    const { page } = map;
    // In all days together it has a column of its own and a pixel of it …
    expect(await whereIs(page, '--state-failed', '.cov-overview')).toMatchObject({ pixels: 1 });
    // … and in the map its own pixels, a day's width.
    await page.locator('.cov-scroller').focus();
    await page.keyboard.press('n');
    await announced(page, 'IMO9000007, 2030-06-24: failed');
    const seen = (await whereIs(page, '--state-failed'))!;
    expect(seen.right - seen.left).toBe(1);
    expect(seen.bottom - seen.top).toBe(seen.pixels);
    expect(map.faults).toEqual([]);
  });
});

/** How long the page's main thread works from now on, in milliseconds of a processor's time. */
async function watchWork(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const tasksMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };
  const beforeMs = await tasksMs();
  return async () => Math.round((await tasksMs()) - beforeMs);
}

/**
 * How many frames there are is up to others too, and to how slow the machine is: they are said beside those that a page
 * has that does nothing. What is asserted is what the page computes for one.
 */
async function expectSmooth(page: Page, name: string): Promise<void> {
  const idle = await framesASecond(page, 0);
  const worked = await watchWork(page);
  const frames = await framesASecond(page, 31);
  const frameMs = (await worked()) / (frames * SCROLLED_SECONDS);
  report(
    `${name}: scrolled at ${frames.toFixed(0)} of ${idle.toFixed(0)} frames a second that there were, ${frameMs.toFixed(1)} ms of a processor each`,
  );
  expect(frames).toBeGreaterThan(0);
  expect(frameMs).toBeGreaterThan(0);
  expect(frameMs).toBeLessThan(MAX_FRAME_MS);
}

const SCROLLED_SECONDS = 2;

/** Over two seconds of scrolling by so many pixels a frame, down and to the right. */
async function framesASecond(page: Page, stepPx: number): Promise<number> {
  return await page.evaluate(
    async ([step, seconds]) => {
      const box = document.querySelector('.cov-scroller')!;
      box.scrollTop = 0;
      await new Promise(requestAnimationFrame);
      const began = performance.now();
      let frames = 0;
      for (; performance.now() - began < seconds! * 1_000; frames++) {
        box.scrollTop += step!;
        box.scrollLeft += step! / 4;
        await new Promise(requestAnimationFrame);
      }
      return (frames * 1_000) / (performance.now() - began);
    },
    [stepPx, SCROLLED_SECONDS],
  );
}
