/** The coverage view in a browser, from a made-up ledger behind the real server: looked at, filtered, walked, linked to. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import { addDays, datesBetween } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { writeNote } from '../../src/lake/ledger/ledger.ts';
import type { CellState } from '../../src/web/answers.ts';
import { browserForTests } from '../helpers/browser.ts';
import { hostileNames, unseenIn } from '../helpers/hostile-text.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import type { MadeUpLedger } from '../helpers/made-up-ledger.ts';
import { MADE_UP_JOB, writeMadeUpLake } from '../helpers/made-up-ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import type { ServedPage } from '../helpers/web.ts';
import { servePage } from '../helpers/web.ts';
import {
  AXIS_PX,
  announced,
  answerOf,
  DAY_PX,
  namesWidth,
  openCoverage,
  openMadeUp,
  picture,
  pointOf,
  query,
  ROW_PX,
  whereIs,
} from './coverage-eyes.ts';

const DAYS = 150;
const ACT_PASSWORD = 'a password to act!';
const WORDS: Readonly<Partial<Record<CellState, string>>> = {
  published: 'complete',
  warned: 'warning',
  'not-due': 'not due',
};
const TROUBLE: readonly CellState[] = ['failed', 'missing', 'stale', 'waiting'];
const browser = await browserForTests();

describe.skipIf(browser === undefined)('the coverage view', () => {
  const store = createMemoryStore();
  let made: MadeUpLedger;
  let served: ServedPage;
  beforeAll(async () => {
    made = await writeMadeUpLake(store, { vessels: 120, days: DAYS });
    const other = { ...MADE_UP_JOB, name: 'nothing-yet' };
    const ports = { store, jobs: [MADE_UP_JOB, other], clock: createManualClock(made.nowMs) };
    served = await servePage(ports, { actPassword: ACT_PASSWORD });
  });
  afterAll(async () => {
    await served.close();
  });

  const address = (rest = '') => `${served.url}/coverage/measurements${rest}`;
  const dateOf = (day: number) => addDays(made.from, day);
  const stateAt = (position: number, day: number) => made.stateOf(made.vessels[position]!, dateOf(day));
  const vesselsWith = (states: readonly CellState[]) =>
    made.vessels.filter((_, position) =>
      Array.from({ length: DAYS }, (_, day) => stateAt(position, day)).some((state) =>
        states.includes(state),
      ),
    );
  /** What is said of a cell, up to its reason. */
  const saidOf = (position: number, day: number) => {
    const state = stateAt(position, day);
    return new RegExp(`^${made.vessels[position]}, ${dateOf(day)}: ${WORDS[state] ?? state}(,|$)`);
  };

  test('a click on a cell opens its day, and the way back leads to the same view', async () => {
    await using map = await openCoverage(browser!, address('?zoom=days'));
    const { page, faults } = map;
    const { x, y } = await pointOf(page, 3, 5);
    await page.mouse.move(x, y);
    const tip = page.locator('.cov-tip');
    await expect.poll(() => tip.textContent()).toContain(made.vessels[3]!);
    expect(await tip.textContent()).toContain(dateOf(5));
    expect(await tip.textContent()).toContain(WORDS[stateAt(3, 5)] ?? stateAt(3, 5));
    await page.mouse.click(x, y);
    await page.waitForURL(`**/day/measurements/${made.vessels[3]}/${dateOf(5)}`);
    await page.goBack();
    await page.locator('.cov-chosen').waitFor();
    await expect.poll(() => page.locator('.cov-chosen').textContent()).toContain(dateOf(5));
    expect(await query(page)).toEqual({ zoom: 'days', vessel: made.vessels[3], date: dateOf(5) });
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  test('walked by keys, every cell is announced as what it is', async () => {
    await using map = await openCoverage(browser!, address('?zoom=month'));
    const { page, faults } = map;
    await page.locator('.cov-scroller').focus();
    await page.keyboard.press('ArrowDown');
    await announced(page, saidOf(0, 0));
    const walk: [key: string, position: number, day: number][] = [
      ['ArrowDown', 1, 0],
      ['ArrowRight', 1, 1],
      ['End', 1, DAYS - 1],
      ['Control+End', 119, DAYS - 1],
      ['ArrowDown', 119, DAYS - 1],
      ['ArrowLeft', 119, DAYS - 2],
      ['ArrowLeft', 119, DAYS - 3],
      ['ArrowUp', 118, DAYS - 3],
      ['Control+Home', 0, 0],
      ['ArrowUp', 0, 0],
    ];
    for (const [key, position, day] of walk) {
      await page.keyboard.press(key);
      await announced(page, saidOf(position, day));
    }
    await page.keyboard.press('PageDown');
    const paged = async () => (await page.locator('.cov-chosen strong').textContent())!;
    await expect.poll(async () => made.vessels.indexOf(await paged())).toBeGreaterThan(5);
    await page.keyboard.press('PageUp');
    await announced(page, saidOf(0, 0));
    // Each trouble in the order of reading, with its reason.
    const troubles = made.vessels
      .flatMap((_, position) => Array.from({ length: DAYS }, (_, day) => [position, day] as const))
      .filter(([position, day]) => TROUBLE.includes(stateAt(position, day)) && (position > 0 || day > 0));
    for (const [position, day] of troubles.slice(0, 3)) {
      await page.keyboard.press('n');
      await announced(page, saidOf(position, day));
    }
    await page.keyboard.press('p');
    await announced(page, saidOf(...troubles[1]!));
    await page.keyboard.press('Enter');
    const [position, day] = troubles[1]!;
    await page.waitForURL(`**/day/measurements/${made.vessels[position]}/${dateOf(day)}`);
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  test('states, words and trouble filter rows; the address says so, and a link shows the same', async () => {
    await using map = await openCoverage(browser!, address());
    const { page, faults } = map;
    const status = page.locator('.coverage > p.hint');
    await page.locator('[data-state="failed"]').click();
    const failed = vesselsWith(['failed']).length;
    await expect.poll(() => status.textContent()).toBe(`${failed} of 120 vessels shown`);
    expect(await page.locator('[data-state="failed"]').getAttribute('aria-pressed')).toBe('true');
    await page.locator('[data-state="refused"]').click();
    const both = vesselsWith(['failed', 'refused']).length;
    await expect.poll(() => status.textContent()).toBe(`${both} of 120 vessels shown`);
    // Those looked at are as they were, the others are faint.
    expect(await whereIs(page, '--state-published')).toBeNull();
    expect((await whereIs(page, '--state-failed'))?.pixels).toBeGreaterThan(0);
    await page.getByLabel('keep the other vessels').check();
    await expect.poll(() => status.textContent()).toBe('');
    await page.getByLabel('keep the other vessels').uncheck();
    await page.getByLabel('Sort by').selectOption('trouble');
    await page.getByRole('button', { name: 'month' }).click();
    await page.locator('.cov-scroller').evaluate((box) => box.scrollTo(50 * 14, 16 * 18));
    await expect
      .poll(() => query(page))
      .toMatchObject({ state: 'failed,refused', sort: 'trouble', zoom: 'month' });
    await expect.poll(async () => (await query(page)).left).toBe(dateOf(50));
    const before = await picture(page);
    await using again = await openCoverage(browser!, page.url());
    await expect.poll(() => picture(again.page)).toBe(before);
    expect(await again.page.locator('[data-state="failed"]').getAttribute('aria-pressed')).toBe('true');
    // A word is found in names and in reasons.
    await page.locator('button[data-state="all"]').click();
    await page.getByLabel('Find').fill(made.vessels[42]!);
    await expect.poll(() => status.textContent()).toBe('1 of 120 vessels shown');
    await page.getByLabel('Find').fill('WOULD-shrink');
    await expect
      .poll(() => status.textContent())
      .toBe(`${vesselsWith(['refused']).length} of 120 vessels shown`);
    await page.getByLabel('Find').fill('nobody');
    await expect.poll(() => status.textContent()).toBe('No vessel is left by these filters.');
    await page.getByLabel('Find').fill('');
    await page.getByLabel('only vessels with problems').check();
    const troubled = vesselsWith(TROUBLE).length;
    await expect
      .poll(() => status.textContent())
      .toBe(troubled === 120 ? '' : `${troubled} of 120 vessels shown`);
    expect(faults).toEqual([]);
  });

  test('what nobody has asked for and what is refused is no trouble, and no gap', async () => {
    const own = createMemoryStore();
    const [one, other] = made.vessels as [string, string];
    const job: Job = { ...MADE_UP_JOB, vessels: [one, other], since: '2026-06-20' };
    const hash = settingsHash(job, '2026-09-10');
    const days = [...datesBetween('2026-06-05', '2026-06-08'), ...datesBetween('2026-06-20', '2026-06-30')];
    for (const vessel of [one, other])
      for (const date of days)
        await writeReceipt(own, makeReceipt({ job: job.name, vessel, date }, { settingsHash: hash }));
    await writeNote(own, {
      ...{ noteVersion: 1, job: job.name, vessel: one, date: '2026-06-22', state: 'refused' },
      ...{ code: 'would-shrink', message: 'fewer readings', at: '2026-06-29T07:00:00.000Z' },
    });
    await using page = await servePage({ store: own, jobs: [job], clock: createManualClock(made.nowMs) });
    await using map = await openCoverage(browser!, `${page.url}/coverage/measurements`);
    const count = (state: string) =>
      map.page.locator(`.cov-legend [data-state="${state}"] .cov-count`).textContent();
    expect([await count('not-asked-for'), await count('missing'), await count('refused')]).toEqual([
      '24',
      '0',
      '1',
    ]);
    expect(await map.page.locator('.cov-facts').textContent()).toContain('oldest gap: none');
    expect(await map.page.locator('#cov-troubles').textContent()).toBe('Problems 0');
    expect(await map.page.locator('#cov-refused').textContent()).toBe('Refused 1');
    await map.page.locator('.cov-scroller').focus();
    await map.page.keyboard.press('ArrowDown');
    for (let day = 0; day < 3; day++) await map.page.keyboard.press('ArrowRight');
    await announced(map.page, new RegExp(`^${one}, 2026-06-08: not asked for$`));
    // Nobody has to look at any of it.
    await map.page.getByLabel('only vessels with problems').check();
    await expect
      .poll(() => map.page.locator('.coverage > p.hint').textContent())
      .toBe('No vessel is left by these filters.');
    expect(map.faults).toEqual([]);
  });

  test('troubles are grouped by code, each with the way to its day', async () => {
    await using map = await openCoverage(browser!, address());
    const { page } = map;
    const group = page.locator('details[data-key="refused would-shrink"]');
    const refused = made.totals.refused;
    await expect.poll(() => group.locator('summary .cov-count').textContent()).toBe(String(refused));
    await group.locator('summary').click();
    // They are listed once it has opened.
    await group.locator('a').first().waitFor();
    const more = group.getByRole('button');
    while ((await more.count()) > 0) await more.first().click();
    const links = await group.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    const expected = made.vessels.flatMap((vessel, position) =>
      Array.from({ length: DAYS }, (_, day) => day)
        .filter((day) => stateAt(position, day) === 'refused')
        .map((day) => `/day/measurements/${vessel}/${dateOf(day)}`),
    );
    expect(links.sort()).toEqual(expected.sort());
    await group.locator('a').first().click();
    await page.waitForURL('**/day/measurements/**');
  });

  test('who may act gets the buttons: failed days again, and each warning accepted', async () => {
    await using map = await openCoverage(browser!, address());
    const { page } = map;
    const again = page.getByRole('button', { name: 'Try failed days again' });
    const accept = page.getByRole('button', { name: 'Accept the warning…' });
    expect([await again.count(), await accept.count()]).toEqual([0, 0]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('textbox', { name: 'Your name' }).fill('Ada');
    await page.locator('dialog input[type=password]').fill(ACT_PASSWORD);
    await page.locator('dialog input[type=password]').press('Enter');
    await again.waitFor();
    expect(await accept.count()).toBe(Math.min(10, made.totals.warned));
    expect(map.faults).toEqual([]);
  });

  test('other days are another step: back and forward walk them', async () => {
    await using map = await openCoverage(browser!, address());
    const { page } = map;
    const from = page.getByLabel('From');
    const first = await from.inputValue();
    expect(first).toBe(made.from);
    await page.getByRole('button', { name: '30 days' }).click();
    await expect.poll(() => from.inputValue().catch(() => '')).toBe(addDays(made.to, -30));
    // The same button has the focus again.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('30 days');
    await page.getByRole('button', { name: '‹ before' }).click();
    await expect.poll(() => from.inputValue().catch(() => '')).toBe(addDays(made.to, -60));
    await page.goBack();
    await expect.poll(() => from.inputValue().catch(() => '')).toBe(addDays(made.to, -30));
    await page.goBack();
    await expect.poll(() => from.inputValue().catch(() => '')).toBe(first);
    await page.goForward();
    await expect.poll(() => from.inputValue().catch(() => '')).toBe(addDays(made.to, -30));
    // What cannot be is said, and not asked for.
    await page.getByLabel('to before').fill(addDays(made.to, -300));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await expect.poll(() => page.locator('form .fault').textContent()).toContain('is not before');
    expect(map.faults).toEqual([]);
  });

  test('dates that are none are answered with what is wrong, and a way on', async () => {
    await using map = await openCoverage(browser!, address('?from=banana'));
    await expect.poll(() => map.page.locator('.fault').textContent()).toContain('banana');
    await map.page.getByRole('link', { name: 'Show the days that there are' }).click();
    await map.page.locator('.cov-canvas').waitFor();
    // Nothing but the answer that was refused.
    expect(map.faults.filter((fault) => !fault.includes('400'))).toEqual([]);
  });

  test('reading again keeps the place; where it fails, what was read stays', async () => {
    await using map = await openCoverage(browser!, address('?zoom=days'));
    const { page } = map;
    await page.locator('.cov-scroller').evaluate((box) => box.scrollTo(1_000, 500));
    await expect.poll(async () => (await query(page)).left).toMatch(/^\d{4}-/);
    const before = await picture(page);
    expect(await page.locator('.cov-age').textContent()).toMatch(/^read \d+ (s|min) ago/);
    await page.getByRole('button', { name: 'Read again' }).click();
    await announced(page, 'Read again');
    expect(await picture(page)).toBe(before);
    await page.route('**/api/jobs/**', (route) => route.abort());
    await page.getByRole('button', { name: 'Read again' }).click();
    await expect.poll(() => page.locator('.coverage > [role=alert]').textContent()).not.toBe('');
    expect(await picture(page)).toBe(before);
  });

  test.for([
    { zoom: 'year', ratio: 1.5 },
    { zoom: 'month', ratio: 1 },
    { zoom: 'days', ratio: 2 },
  ])('one failed day colours its own cell and no other: $zoom, $ratio', async ({ zoom, ratio }) => {
    const vessels = Array.from({ length: 40 }, (_, i) => `IMO${9_000_000 + i}`);
    const answer = answerOf(vessels, 365, { '6 20': 'failed' });
    const options = { deviceScaleFactor: ratio };
    await using map = await openMadeUp(browser!, address(`?zoom=${zoom}`), answer, options);
    const { page } = map;
    const seen = (await whereIs(page, '--state-failed'))!;
    const green = (await whereIs(page, '--state-published'))!;
    const [left, top] = [Math.round((await namesWidth(page)) * ratio), AXIS_PX * ratio];
    const width = page.viewportSize()!.width;
    const [dayPx, rowPx] =
      zoom === 'days' ? [DAY_PX, ROW_PX] : zoom === 'month' ? [14, 18] : [width / 365, 16];
    expect(seen.left).toBeGreaterThanOrEqual(left + Math.floor(20 * 0.8 * dayPx * ratio));
    expect(seen.right - seen.left).toBeGreaterThanOrEqual(1);
    expect(seen.right - seen.left).toBeLessThanOrEqual(Math.ceil(dayPx * ratio));
    expect(seen.top).toBeGreaterThanOrEqual(top + Math.floor(6 * 0.6 * rowPx * ratio));
    expect(seen.bottom - seen.top).toBeLessThanOrEqual(rowPx * ratio);
    // In the same row there is green on both sides.
    expect(green.left).toBeLessThan(seen.left);
    expect(green.right).toBeGreaterThan(seen.right);
    expect(map.faults).toEqual([]);
  });

  test('a queue that does not answer is said, for what waits in it looks missing', async () => {
    const answer = { ...answerOf(['IMO9000001'], 3), isQueueKnown: false };
    await using map = await openMadeUp(browser!, address(), answer);
    const notice = map.page.locator('.coverage > .fault[role=status]');
    expect(await notice.textContent()).toContain('The queue does not answer');
    await map.page.unrouteAll();
    await map.page.getByRole('button', { name: 'Read again' }).click();
    await announced(map.page, 'Read again');
    expect(await notice.textContent()).toBe('');
    expect(map.faults).toEqual([]);
  });

  test('keys and wheel zoom, and what is chosen or pointed at stays in sight', async () => {
    await using map = await openCoverage(browser!, address('?zoom=month'));
    const { page } = map;
    await page.locator('.cov-scroller').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('+');
    await expect.poll(async () => (await query(page)).zoom).toBe('20');
    await page.keyboard.press('ArrowLeft');
    await announced(page, saidOf(119, DAYS - 2));
    await page.keyboard.press('-');
    await page.keyboard.press('-');
    await expect.poll(async () => (await query(page)).zoom).toBe('9');
    const box = (await page.locator('.cov-scroller').boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = page.locator('.cov-tip');
    const said = async () => (await tip.locator('strong, span').allTextContents()).slice(0, 2).join(' ');
    await expect.poll(said).toMatch(/^IMO\d+ \w{3} \d{4}-/);
    const before = await said();
    await page.keyboard.down('Control');
    for (const zoom of ['14', '20', '26']) {
      await page.mouse.wheel(0, -120);
      await expect.poll(async () => (await query(page)).zoom).toBe(zoom);
    }
    await page.keyboard.up('Control');
    await tip.waitFor();
    await expect.poll(said).toBe(before);
    expect(map.faults).toEqual([]);
  });

  test('follows light and dark, of the system and as chosen', async () => {
    await using map = await openCoverage(browser!, address(), { colorScheme: 'dark' });
    const { page } = map;
    const ground = () =>
      page.evaluate(() => {
        const canvas = document.querySelector<HTMLCanvasElement>('.cov-canvas')!;
        return [...canvas.getContext('2d')!.getImageData(1, 1, 1, 1).data.subarray(0, 3)];
      });
    expect(Math.max(...(await ground()))).toBeLessThan(80);
    expect((await whereIs(page, '--state-published'))?.pixels).toBeGreaterThan(1_000);
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(async () => Math.min(...(await ground()))).toBeGreaterThan(200);
    expect((await whereIs(page, '--state-published'))?.pixels).toBeGreaterThan(1_000);
    await page.getByLabel('Colours').selectOption('dark');
    await expect.poll(async () => Math.max(...(await ground()))).toBeLessThan(80);
    expect(map.faults).toEqual([]);
  });

  test('a finger chooses first, and opens at the second tap', async () => {
    const options = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
    await using map = await openCoverage(browser!, address('?zoom=days'), options);
    const { page } = map;
    await page.locator('.cov-scroller').scrollIntoViewIfNeeded();
    const { x, y } = await pointOf(page, 2, 3);
    await page.touchscreen.tap(x, y);
    await expect.poll(() => page.locator('.cov-chosen').textContent()).toContain(dateOf(3));
    expect(new URL(page.url()).pathname).toBe('/coverage/measurements');
    await page.touchscreen.tap(x, y);
    await page.waitForURL(`**/day/measurements/${made.vessels[2]}/${dateOf(3)}`);
  });

  test('is a table too: each vessel with its days by state', async () => {
    await using map = await openCoverage(browser!, address());
    const { page } = map;
    await page.getByRole('button', { name: 'table' }).click();
    const rows = page.locator('.cov-table tbody tr');
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByRole('button', { name: '20 more' }).click();
    await expect.poll(() => rows.count()).toBe(120);
    const heads = await page.locator('.cov-table thead th').allTextContents();
    const failed = heads.indexOf('failed');
    const cells = await rows.evaluateAll(
      (all, column) => all.map((row) => Number(row.children[column]!.textContent)),
      failed,
    );
    expect(cells.reduce((a, b) => a + b, 0)).toBe(made.totals.failed);
    expect(await page.locator('.cov-map').isVisible()).toBe(false);
    // The address follows a moment later.
    await expect.poll(() => query(page)).toEqual({ as: 'table' });
    await page.reload();
    await expect.poll(() => rows.count()).toBe(100);
    expect(map.faults).toEqual([]);
  });

  test('names that steer, hide or are endless do no harm', async () => {
    const names = [
      ...Object.values(hostileNames),
      '<script>globalThis.harmed=1</script>',
      'שלום',
      'n'.repeat(300_000),
    ];
    const troubles = names.map((vessel) => ({
      ...{ vessel, date: '2025-01-02', state: 'failed' as const, code: hostileNames.link },
      message: `<img src=x onerror="globalThis.harmed=1">${hostileNames.all}`,
    }));
    const answer = { ...answerOf(names, 20, { '0 1': 'failed' }), troubles, troubleCount: troubles.length };
    await using map = await openMadeUp(browser!, address('?zoom=days'), answer);
    const { page } = map;
    await page.locator('.cov-scroller').focus();
    for (const _ of names) await page.keyboard.press('ArrowDown');
    await announced(page, /^n{80}…, 2025-01-01: complete$/);
    await page.getByRole('button', { name: 'table' }).click();
    await expect.poll(() => page.locator('.cov-table tbody tr').count()).toBe(names.length);
    const text = await page.locator('.coverage').evaluate((view) => (view as HTMLElement).innerText);
    expect(unseenIn(text.replaceAll(/[\n\t]/g, ' '))).toEqual([]);
    expect(text.length).toBeLessThan(50_000);
    expect(await page.evaluate(() => 'harmed' in globalThis)).toBe(false);
    expect(await page.locator('.coverage script, .coverage img').count()).toBe(0);
    expect(map.faults).toEqual([]);
  });

  test('a job without vessels, a day alone and an answer that contradicts itself', async () => {
    await using none = await openCoverage(browser!, `${served.url}/coverage/nothing-yet`);
    expect(await none.page.locator('.coverage').textContent()).toContain('No vessels yet');
    expect(none.faults).toEqual([]);
    await using one = await openMadeUp(browser!, address(), answerOf(['IMO9000001'], 1, { '0 0': 'failed' }));
    expect((await whereIs(one.page, '--state-failed'))?.pixels).toBeGreaterThan(50);
    await one.page.locator('.cov-scroller').focus();
    await one.page.keyboard.press('ArrowRight');
    await announced(one.page, 'IMO9000001, 2025-01-01: failed');
    await one.page.keyboard.press('n');
    await announced(one.page, 'No problem after this day');
    expect(one.faults).toEqual([]);
    await one.page.unrouteAll();
    await one.page.route('**/api/jobs/*/coverage*', async (route) => {
      const real = await (await route.fetch()).json();
      await route.fulfill({ json: { ...real, cells: 'pp' } });
    });
    await one.page.reload();
    await one.page.getByText("The server's answer contradicts itself: 2 cells").waitFor();
  });
});
