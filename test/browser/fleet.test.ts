/** The fleet's view in a real browser, over processes that work and report. */

import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { createFleetReporter } from '../../src/redis/fleet-facts.ts';
import type { ProcessFacts } from '../../src/redis/fleet-shapes.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import { browserForTests } from '../helpers/browser.ts';
import { canStartOwnRedis, redisForTests, startOwnRedis } from '../helpers/redis.ts';
import { DATE, VESSEL } from '../helpers/run.ts';
import { servePage } from '../helpers/web.ts';
import type { TestFleet } from '../web/fleet-bench.ts';
import { learned, openTestFleet } from '../web/fleet-bench.ts';

const server = await redisForTests();
const browser = await browserForTests();
const isOwnPossible = canStartOwnRedis();
afterAll(() => server?.stop());

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE, kind: 'nightly' } as const;

const table = (page: Page, name: string | RegExp) => page.getByRole('table', { name });
const row = (page: Page, text: string | RegExp) => page.getByRole('row').filter({ hasText: text });

/** Asks anew at once, as for somebody who comes back to the tab, until it is so. */
const seen = (page: Page, isSo: () => Promise<boolean>) =>
  expect
    .poll(
      async () => {
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        return await isSo();
      },
      { interval: 100 },
    )
    .toBe(true);

/** How often the fleet was asked for. */
function countAsked(page: Page): () => number {
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/api/fleet')) asked++;
  });
  return () => asked;
}

describe.skipIf(server === undefined || browser === undefined)('the fleet in a browser', () => {
  const open = (): Promise<TestFleet> =>
    openTestFleet({ redisUrl: server!.url, prefix: server!.newPrefix() });

  test('shows what works, and how far, and draws it again; focus and what was opened stay', async () => {
    await using fleet = await open();
    await using served = await servePage(fleet.ports);
    fleet.holdAfter(2);
    await fleet.startWorker();
    await fleet.fleet.queue.add([DAY]);
    await using opened = await browser!.open(`${served.url}/fleet`);
    const { page, faults } = opened;
    const running = row(page, `${VESSEL} ${DATE}`);
    await seen(page, () => running.getByText(/[1-9][\d,]* of [\d,]+ \(\d+ %\)/).isVisible());
    expect(await running.getByText('fetches').count()).toBe(1);
    expect(await page.getByText('1 of 2 at once').count()).toBe(1);
    await row(page, /^worker/).waitFor();
    await page.getByText('No scheduler is connected').waitFor();
    const rowsNow = async () => Number(/([\d,]+) of/.exec(await running.innerText())![1]!.replace(',', ''));
    const link = running.getByRole('link');
    expect(await link.getAttribute('href')).toBe(`/day/measurements/${VESSEL}/${DATE}`);
    await page.getByText('The same as a table').click();
    const isDrawnAgain = async () => {
      await link.focus();
      await page.evaluate('scrollTo(0, 60)');
      const before = await rowsNow();
      await seen(page, async () => {
        fleet.holdAfter(1);
        return (await rowsNow()) > before;
      });
      return await page.evaluate('document.activeElement.getAttribute("href")');
    };
    // A process that is not heard of for long, on a busy machine, is gone meanwhile.
    await expect.poll(isDrawnAgain).toBe(await link.getAttribute('href'));
    expect(await page.evaluate('scrollY')).toBe(60);
    const steps = table(page, 'Requests by ten minutes');
    expect(await steps.getByRole('row').nth(1).innerText()).toMatch(/UTC\s+\d+/);
    expect(await page.getByText(/^In 24 hours \d+ requests?/).count()).toBe(1);
    fleet.release();
    await seen(page, () => page.getByText('Nothing runs now.').isVisible());
    expect(faults).toEqual([]);
  });

  test('shows what the scheduler knows of jobs and backfills, with links to the days', async () => {
    await using fleet = await open();
    await using served = await servePage(fleet.ports);
    await using scheduler = await fleet.startTelling('scheduler');
    const { news } = scheduler;
    const range = { from: '2026-01-01', to: '2026-02-01' };
    const common = {
      backfillVersion: 1,
      job: 'measurements',
      ...range,
      vessels: [],
      allowShrink: false,
    } as const;
    const createdAt = '2026-02-01T00:00:00.000Z';
    await defineBackfill(fleet.ports.store, { ...common, id: 'b-1', paused: false, createdAt });
    await defineBackfill(fleet.ports.store, { ...common, id: 'b-2', paused: true, createdAt });
    news.onEvent({ kind: 'lead', leads: true });
    news.onEvent(learned.missing(1_234, '2025-11-03'));
    news.onEvent(learned.failed(12, 0));
    news.onEvent(learned.lookedBack({ unchanged: 90, changed: 2, 'would-shrink': 0 }, range.from, range.to));
    await using opened = await browser!.open(`${served.url}/fleet`);
    const { page, faults } = opened;
    await createFleetReporter(fleet.fleet).send({
      process: {
        ...{
          role: 'worker' as const,
          host: 'south',
          pid: 1,
          version: '1.0.0',
          upMs: 7_300_000,
          active: 0,
          atOnce: 2,
        },
        ...{ leads: null, running: [] },
      },
      facts: [
        {
          ...{ kind: 'backfill', of: 'b-1' },
          value: { due: 1_000, done: 250, failed: 3, queued: 40, vesselDaysPerHour: 500, secondsLeft: 5_400 },
        },
      ],
    });
    const south = row(page, 'south');
    await seen(page, () => south.isVisible());
    // So long, and how long ago it was told.
    expect(await south.innerText()).toMatch(/2 h \d min/);
    const job = table(page, /^Jobs/).locator('tbody tr');
    await seen(page, () => job.getByText('1,234').isVisible());
    expect(await job.innerText()).toMatch(
      /2025-11-03\s+12\s+0\s.*2026-01-01 to 2026-02-01: 90 unchanged, 2 changed/s,
    );
    expect(await job.getByRole('link', { name: '12' }).getAttribute('href')).toBe(
      '/coverage/measurements?state=failed',
    );
    // Where there is none there is nothing to go to.
    expect(await job.getByRole('link', { name: '0', exact: true }).count()).toBe(0);
    const told = await row(page, 'b-1').innerText();
    expect(told).toMatch(/250 of 1,000 vessel-days \(25 %\), 3 failed\s+500\s+about 1 h 30 min/);
    expect(await row(page, 'b-2').innerText()).toMatch(/not known yet.*paused/s);
    expect(await row(page, /^scheduler, plans/).count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test('a hold is told first, with its reason and what to do, and is gone when it is over', async () => {
    await using fleet = await open();
    await using served = await servePage(fleet.ports);
    await using opened = await browser!.open(`${served.url}/fleet`);
    const { page, faults } = opened;
    await page.getByText('No worker is connected: start one with').waitFor();
    const hold = fleet.fleet.queue.hold;
    const message = 'the service refuses <b>us</b>; check QUERY_CLIENT_SECRET';
    await hold.place({
      code: 'credentials-refused',
      message,
      host: '<i>x</i>',
      sinceMs: Date.now() - 600_000,
    });
    const banner = page.getByRole('region', { name: 'The queue is on hold' });
    await seen(page, () => banner.isVisible());
    expect(await banner.innerText()).toMatch(
      /credentials-refused.*<b>us<\/b>.*1\d min, found by <i>x<\/i>.*No vessel-day is lost/s,
    );
    await page.getByRole('status').getByText('on hold: credentials-refused').waitFor();
    await hold.lift();
    await seen(page, async () => (await banner.count()) === 0);
    expect(await page.locator('b, i').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test('asks only while somebody looks, and can be made to stand still, by keys alone', async () => {
    await using fleet = await open();
    await using served = await servePage(fleet.ports);
    // The clock is that of a whole context.
    await using opened = await browser!.open(`${served.url}/fleet`, {}, (made) => made.clock.install());
    const { page, faults } = opened;
    const asked = countAsked(page);
    const asksAgain = () => {
      const before = asked();
      const more = async () => {
        await page.clock.runFor(3_000);
        return asked() - before;
      };
      return expect.poll(more).toBeGreaterThan(1);
    };
    await asksAgain();
    const setHidden = (isHidden: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    const standsStill = async () => {
      // What was under way is over.
      await page.clock.runFor(3_000);
      await page.waitForLoadState('networkidle');
      const before = asked();
      await page.clock.runFor(600_000);
      expect(asked()).toBe(before);
    };
    await setHidden(true);
    await standsStill();
    await setHidden(false);
    await asksAgain();
    const freeze = page.getByRole('button', { name: 'Freeze' });
    await freeze.focus();
    await page.keyboard.press('Enter');
    expect(await freeze.getAttribute('aria-pressed')).toBe('true');
    await standsStill();
    await page.keyboard.press('Enter');
    await asksAgain();
    // Another view.
    await page.getByRole('link', { name: 'measurements' }).first().click();
    await standsStill();
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  test('a process that has fallen silent is marked, and goes', async () => {
    await using fleet = await open();
    await using served = await servePage(fleet.ports);
    const facts: ProcessFacts = {
      ...{
        role: 'worker' as const,
        host: '<script>alert(1)</script>',
        pid: 1,
        version: '1.0.0',
        upMs: 1,
        active: 0,
      },
      ...{ atOnce: 2, leads: null, running: [] },
    };
    const { connection, prefix } = fleet.fleet;
    await using opened = await browser!.open(`${served.url}/fleet`);
    const { page, faults } = opened;
    await createFleetReporter(fleet.fleet).send({ process: facts, facts: [] });
    const [process] = await connection.client.zrange(`${prefix}:fleet:seen`, '0', '0');
    const heardOf = async (agoMs: number) => {
      const [seconds] = await connection.client.time();
      await connection.client.zadd(`${prefix}:fleet:seen`, String(Number(seconds) * 1_000 - agoMs), process!);
    };
    const worker = row(page, '<script>alert(1)</script>');
    await seen(page, () => worker.isVisible());
    // Again and again: it is silent for some seconds only until it is gone.
    await seen(page, async () => {
      await heardOf(30_000);
      return await worker.getByText(/silent for \d+ s: stopped, or cut off\?/).isVisible();
    });
    await heardOf(60_000);
    await seen(page, async () => (await worker.count()) === 0);
    expect(faults).toEqual([]);
  });
});

describe.skipIf(!isOwnPossible || browser === undefined)('a Redis that is lost while somebody looks', () => {
  test('is told, with how old the rest is, until it is back', async () => {
    await using redis = await startOwnRedis();
    await using fleet = await openTestFleet({ redisUrl: redis.url, prefix: 'lost' });
    await using served = await servePage(fleet.ports);
    await using opened = await browser!.open(`${served.url}/fleet`);
    const { page, faults } = opened;
    await page.getByText('No worker is connected').waitFor();
    await redis.kill();
    const trouble = page.locator('.fleet-trouble');
    const told = trouble.getByText(/Redis is out of reach.*What stands below is of \d\d:\d\d:\d\d UTC/);
    await seen(page, () => told.isVisible());
    expect(await page.getByRole('heading', { name: 'Processes' }).isVisible()).toBe(true);
    await redis.start();
    await seen(page, async () => !(await trouble.isVisible()));
    await page.getByRole('status').getByText('in reach again').waitFor();
    // What the browser says of each answer 503.
    expect(faults.filter((fault) => !fault.includes('503'))).toEqual([]);
  });
});
