/** Acting by a real browser: asked before what cannot be undone, told how it ended. */
import { rm } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { silentLog } from '../../src/core/model/index.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { openFleet } from '../../src/fleet/fleet.ts';
import { listBackfills } from '../../src/lake/backfills.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { browserForTests, type OpenedPage } from '../helpers/browser.ts';
import { knowLimits, redisForTests } from '../helpers/redis.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { exportEnv, FEW_SERIES, newLake, startTestService, VESSEL, writeJobs } from '../helpers/run.ts';
import { signIn } from '../helpers/web.ts';
import type { ActsPage } from '../web/acts-bench.ts';
import { openActs, READ_PASSWORD } from '../web/acts-bench.ts';

const browser = await browserForTests();
const redis = await redisForTests();
const JOB = 'measurements';
/** Each test has a vessel-day, and backfills, of its own. */
const dayOf = (date: string): VesselDay => ({ job: JOB, vessel: VESSEL, date });

describe.skipIf(browser === undefined || redis === undefined)('who acts', () => {
  let service: TestService;
  let lake: TestLake;
  let jobsDir: string;
  let fleet: Fleet;
  let served: ActsPage;
  let opened: OpenedPage | undefined;
  let page: Page;

  beforeAll(async () => {
    service = await startTestService();
    jobsDir = await writeJobs({ [JOB]: FEW_SERIES });
    lake = await newLake();
    const env = exportEnv(service, lake.url, jobsDir);
    const prefix = redis!.newPrefix();
    await knowLimits(redis!.url, prefix, service);
    const config = loadConfig({ ...env, REDIS_URL: redis!.url, REDIS_PREFIX: prefix });
    fleet = await openFleet(config, env, silentLog, { encoderThreads: 0 });
    served = await openActs({ store: fleet.app.store, jobs: config.jobs, fleet });
  });
  afterEach(() => opened?.close());
  afterAll(async () => {
    await served.close();
    await fleet.close();
    await lake[Symbol.asyncDispose]();
    await service.close();
    await rm(jobsDir, { recursive: true });
    await redis!.stop();
  });

  async function open(cookie = served.cookie): Promise<void> {
    const [name, value] = cookie.split('=') as [string, string];
    opened = await browser!.open(`${served.url}/`, undefined, (made) =>
      made.context().addCookies([{ name, value, url: served.url, httpOnly: true, sameSite: 'Strict' }]),
    );
    ({ page } = opened);
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  /** The controls of a target alone, in the page, with its own ways to ask and to announce. */
  async function mount(target: object): Promise<boolean> {
    return await page.evaluate<boolean>(`(async () => {
      const { createApi } = await import('/page/api.js');
      const { actControls } = await import('/page/acts/controls.js');
      const api = createApi(() => {});
      const main = document.querySelector('main');
      const announce = (text) => main.setAttribute('data-announced', text);
      const session = await api.get('/api/session');
      const { signal } = new AbortController();
      const controls = actControls({ api, session, announce, signal }, ${JSON.stringify(target)});
      main.replaceChildren(...(controls === null ? [] : [controls]));
      return controls !== null;
    })()`);
  }
  const announced = () => page.locator('main').getAttribute('data-announced');
  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' });
  const outcome = () => page.locator('.act-bar .act-outcome').textContent();
  const backfillsFrom = async (from: string) =>
    (await listBackfills(fleet.app.store)).filter((backfill) => backfill.from === from);
  const startBackfill = async () => {
    const body = { job: JOB, from: '2026-01-01', to: '2026-01-03', vessels: [], allowShrink: false };
    return (await served.act({ act: 'start-backfill', ...body })).message.split(' ')[0]!;
  };

  test('tries a vessel-day again with one key, hears how it ended, and keeps the focus', async () => {
    const day = dayOf('2026-01-05');
    await open();
    expect(await mount({ kind: 'day', ...day, state: 'failed' })).toBe(true);
    await page.getByRole('group', { name: `To try it again: ${VESSEL}, ${day.date}` }).waitFor();
    await button('Try again now').focus();
    await page.keyboard.press('Enter');
    await expect.poll(announced).toContain('is in the queue now');
    expect(await outcome()).toContain('is in the queue now');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Try again now');
    expect(await fleet.queue.find(day)).toMatchObject({ state: 'waiting' });
    await button('Close').click();
    expect(await page.locator('.act-bar').count()).toBe(0);
  });

  test('reads how it ended where what it was about is gone', async () => {
    const hold = { code: 'disk-full', message: 'no room', host: 'a', sinceMs: Date.now() };
    await fleet.queue.hold.place(hold);
    await open();
    await page.goto(`${served.url}/fleet`);
    await button('Lift the hold').click();
    await button('Lift the hold').waitFor({ state: 'detached' });
    expect(await outcome()).toContain("it was on hold for 'disk-full'. Workers try within seconds");
    expect(await fleet.queue.bull.isPaused()).toBe(false);
    await page.getByRole('link', { name: JOB }).first().click();
    await page.locator('.act-bar').waitFor({ state: 'detached' });
  });

  test('presses twice while it is under way: the button waits, and it is done once', async () => {
    await open();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    await page.route('**/api/acts', async (route) => {
      asked++;
      await answered;
      await route.continue();
    });
    await mount({ kind: 'failed', job: JOB });
    await button('Try failed days again').click();
    await expect.poll(() => button('Try failed days again').isDisabled()).toBe(true);
    expect(await page.getByRole('group').getAttribute('aria-busy')).toBe('true');
    await button('Try failed days again').click({ force: true });
    answer();
    await expect.poll(announced).toContain('has no failed vessel-day to try again');
    expect(asked).toBe(1);
    expect(await button('Try failed days again').isDisabled()).toBe(false);
  });

  test('is asked before a backfill is cancelled: Escape and the first button leave it, the other cancels', async () => {
    const id = await startBackfill();
    await open();
    await mount({ kind: 'backfill', backfill: { id, paused: false } });
    const dialog = page.getByRole('dialog', { name: 'Cancel this backfill?' });
    await button('Cancel…').click();
    await dialog.waitFor();
    // What does no harm has the focus.
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Keep it');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel…');
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await backfillsFrom('2026-01-01')).toMatchObject([{ id, paused: false }]);
    await button('Cancel…').click();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(announced).toBe(`${id} is cancelled`);
    expect(await backfillsFrom('2026-01-01')).toEqual([]);
  });

  test('decides apart that a refused day may lose readings', async () => {
    const day = dayOf('2026-01-06');
    await open();
    await mount({ kind: 'day', ...day, state: 'refused' });
    await button('Look again whether the readings are back').click();
    await expect.poll(announced).toContain('is in the queue now');
    expect((await fleet.queue.find(day))?.queued.allowShrink).toBeUndefined();
    await button('Publish with fewer readings…').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish with fewer readings' }).click();
    await expect.poll(announced).toContain('fewer readings than are published are accepted');
    expect((await fleet.queue.find(day))?.queued.allowShrink).toBe(true);
  });

  test('starts a backfill by a form that says what is wrong with it before anything is sent', async () => {
    await open();
    await mount({ kind: 'start-backfill', job: JOB });
    await button('Start a backfill…').click();
    const dialog = page.getByRole('dialog', { name: 'Start a backfill of measurements' });
    const fault = dialog.getByRole('alert');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await expect.poll(() => fault.textContent()).toContain('expected a date');
    await dialog.getByLabel('First day').fill('2026-01-02');
    await dialog.getByLabel('Last day').fill('2026-01-01');
    await dialog.getByLabel('Vessels').fill(`${VESSEL}, <b>IMO1</b>`);
    await page.keyboard.press('Enter');
    await expect.poll(() => fault.textContent()).toContain('before the first');
    await dialog.getByLabel('Last day').fill('2026-01-05');
    await page.keyboard.press('Enter');
    await expect.poll(() => fault.textContent()).toContain('“<b>IMO1</b>”');
    expect(await backfillsFrom('2026-01-02')).toEqual([]);
    await dialog.getByLabel('Vessels').fill(VESSEL);
    await page.keyboard.press('Enter');
    await expect.poll(announced).toContain('is started');
    expect(await backfillsFrom('2026-01-02')).toMatchObject([
      { job: JOB, from: '2026-01-02', to: '2026-01-06', vessels: [VESSEL], allowShrink: false },
    ]);
  });

  test('reads what was not done, and why: names with markup stay text', async () => {
    await open();
    const id = '<img src=x onerror="document.title=1">\u202e\u0007';
    await mount({ kind: 'backfill', backfill: { id, paused: true } });
    await button('Resume').click();
    await expect.poll(announced).toContain('not done: id: got');
    expect(await outcome()).toContain('<img src=x');
    expect(await outcome()).not.toMatch(/[\u202e\u0007]/);
    expect(await page.locator('main img, .act-bar img, .act-bar script').count()).toBe(0);
    await mount({ kind: 'backfill', backfill: { id: 'no-such-backfill', paused: true } });
    await button('Resume').click();
    await expect.poll(outcome).toContain("there is no unfinished backfill 'no-such-backfill'");
    await page.route('**/api/acts', (route) => route.abort());
    await button('Resume').click();
    await expect
      .poll(outcome)
      .toContain('No response from the server: it is unknown whether the action was done');
  });

  test('finds no buttons as a reader but a hint, and nothing where nothing can be done', async () => {
    await open(await signIn(served.url, READ_PASSWORD, 'Rita'));
    expect(await mount({ kind: 'hold' })).toBe(true);
    expect(await page.locator('main').textContent()).toBe(
      'To lift the hold: sign in with the password for acting.',
    );
    expect(await page.getByRole('group').count()).toBe(0);
    await opened!.close();
    await open();
    for (const state of ['published', 'empty', 'running', 'not-due', 'warned'])
      expect(await mount({ kind: 'day', ...dayOf('2026-01-07'), state }), state).toBe(false);
  });
});
