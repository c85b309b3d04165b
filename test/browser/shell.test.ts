/** What every view has around it. The views here are the test's own, so that each does what is asked of the shell. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import type { WebAccess } from '../../src/web/ports.ts';
import { browserForTests } from '../helpers/browser.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import { startProvider } from '../helpers/openid-provider.ts';
import type { ServedPage } from '../helpers/web.ts';
import { servePage } from '../helpers/web.ts';

const READ = 'a password to look';
const ACT = 'a password to act!';
const JOBS = ['measurements', 'a<b> & "c"'].map((name) => ({ name, dataset: 'measurements' }));

const VIEWS = {
  coverage: `
    import { h } from '../parts/dom.js';
    export const coverageView = {
      path: /^\\/coverage\\/(?<job>[^/]+)$/,
      title: ({ job }) => 'Coverage of ' + job,
      mount(root, { params, query, signal, navigate, session, announce }) {
        globalThis.mounted = (globalThis.mounted ?? 0) + 1;
        signal.addEventListener('abort', () => { globalThis.left = (globalThis.left ?? 0) + 1; });
        root.append(
          h('p', { id: 'seen' }, JSON.stringify({ params, query: String(query), mayAct: session.mayAct })),
          h('a', { href: '/day/a%2Fb/IMO9321483/2026-01-05' }, 'a day'),
          h('a', { href: '/api/about', id: 'answer' }, 'an answer'),
          h('a', { href: '/day/x/y/z' }, 'nowhere'),
          h('button', { onclick: () => navigate('?from=2026-01-01', { replace: true }) }, 'replace'),
          h('button', { onclick: () => navigate('/coverage/other') }, 'go'),
          h('button', { onclick: () => announce('Forty days') }, 'say'),
          h('div', { style: undefined, id: 'tall' }),
        );
      },
    };`,
  day: `
    import { h } from '../parts/dom.js';
    export const dayView = {
      path: /^\\/day\\/(?<job>[^/]+)\\/(?<vessel>[^/]+)\\/(?<date>[^/]+)$/,
      title: ({ vessel, date }) => vessel + ' ' + date,
      async mount(root, { api, params, signal }) {
        if (params.job === 'x') await api.get('/api/nothing', { signal });
        if (params.job === 'broken') throw new TypeError('a view that fails');
        if (params.job === 'act') await api.post('/api/acts', {}, { signal });
        const about = await api.get('/api/about', { signal });
        root.append(h('p', { id: 'seen' }, params.job + ' ' + about.jobs.length));
      },
    };`,
  fleet: `
    export const fleetView = { path: /^\\/fleet$/, title: () => 'Fleet', mount(root) { root.append('fleet'); } };`,
};

const browser = await browserForTests();

describe.skipIf(browser === undefined)('the shell', () => {
  const serve = (access: Partial<WebAccess> = {}): Promise<ServedPage> =>
    servePage({ store: createMemoryStore(), jobs: JOBS as unknown as Job[] }, access);

  /** A page with the views above, at an address. */
  const open = (address: string, options?: BrowserContextOptions) =>
    browser!.open(address, options, (page) =>
      Promise.all(
        Object.entries(VIEWS).map(([name, body]) =>
          page.route(`**/page/${name}/view.js`, (route) =>
            route.fulfill({ body, contentType: 'text/javascript' }),
          ),
        ),
      ),
    );
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
  const seen = async (page: Page) => (await page.locator('#seen').textContent()) ?? '';

  test('asks who is there, then shows what the address names; a wrong password is told', async () => {
    await using served = await serve({ readPassword: READ, actPassword: ACT });
    const { page, faults, close } = await open(`${served.url}/coverage/measurements?from=2026-01-01`);
    await heading(page, 'Sign in');
    expect(await page.title()).toBe('Sign in · vessel-export');
    expect(await page.getByRole('navigation').getByRole('link').count()).toBe(0);
    // By the keyboard alone: the first field has the focus.
    await page.keyboard.type('Ada <b>Lovelace</b>');
    await page.keyboard.press('Tab');
    await page.keyboard.type('a wrong password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The password is wrong').waitFor();
    await page.keyboard.type(READ);
    await page.keyboard.press('Enter');
    await heading(page, 'Coverage of measurements');
    expect(JSON.parse(await seen(page))).toEqual({
      ...{ params: { job: 'measurements' }, query: 'from=2026-01-01', mayAct: false },
    });
    await page.getByText('Ada <b>Lovelace</b> (looks only)').waitFor();
    // The cookie is kept from scripts, and outlives the tab.
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.reload();
    await heading(page, 'Coverage of measurements');
    expect(await page.getByRole('navigation').getByRole('link').count()).toBe(2);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in');
    expect(await page.getByRole('navigation').getByRole('link').count()).toBe(0);
    expect(await page.locator('body').textContent()).not.toContain('test-lake');
    expect(faults).toEqual([expect.stringContaining('401')]);
    await close();
  });

  test('with an own name at a provider of another site, and ends the sessions of all', async () => {
    await using provider = await startProvider({ people: { ada: ['crew'], eve: [] } });
    const named = { provider: provider.settings, readGroups: ['crew'], actGroups: ['crew'] };
    await using served = await serve({ named });
    // Another site than the provider's: what browsers keep from other sites is kept from it.
    const url = served.url.replace('127.0.0.1', 'localhost');
    provider.serves(url);
    const { page, close } = await open(`${url}/coverage/measurements?from=2026-01-01`);
    const signInAs = async (login: string) => {
      await page.getByRole('link', { name: 'Sign in with your own name' }).click();
      await page.getByPlaceholder('Enter any login').fill(login);
      await page.getByPlaceholder('and password').fill('any');
      await page.getByRole('button', { name: 'Sign-in' }).click();
      await page.getByRole('button', { name: 'Continue' }).click();
    };
    await heading(page, 'Sign in');
    await signInAs('eve');
    await page.getByRole('alert').getByText('You are in none of the groups').waitFor();
    expect(page.url()).toBe(`${url}/`);
    await page.context().clearCookies();
    await page.goto(`${url}/coverage/measurements?from=2026-01-01`);
    await heading(page, 'Sign in');
    await signInAs('ada');
    await heading(page, 'Coverage of measurements');
    expect(JSON.parse(await seen(page))).toEqual({
      ...{ params: { job: 'measurements' }, query: 'from=2026-01-01', mayAct: true },
    });
    await page.locator('.person').getByText('ADA', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'End all sessions…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click();
    await heading(page, 'Sign in');
    await close();
  });

  test('a session that has ended leads to the sign-in, and back to where one was', async () => {
    await using served = await serve({ readPassword: READ });
    const { page, close } = await open(`${served.url}/coverage/measurements`);
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Password').fill(READ);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(page, 'Coverage of measurements');
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'a day' }).click();
    await heading(page, 'Sign in');
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Password').fill(READ);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(page, 'IMO9321483 2026-01-05');
    expect(await seen(page)).toBe('a/b 2');
    await close();
  });

  test('links, steps back and forward, and a changed address mount and leave views', async () => {
    await using served = await serve();
    const { page, faults, close } = await open(`${served.url}/coverage/measurements`);
    await heading(page, 'Coverage of measurements');
    // Who opens the page starts at its top, where the skip link is.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    expect(await page.evaluate('mounted')).toBe(1);

    await page.getByRole('button', { name: 'replace' }).click();
    expect(new URL(page.url()).search).toBe('?from=2026-01-01');
    expect(await page.evaluate('mounted')).toBe(1);
    await page.getByRole('link', { name: 'a day' }).focus();
    await page.keyboard.press('Enter');
    await heading(page, 'IMO9321483 2026-01-05');
    // Who follows a link is taken to the heading.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('IMO9321483 2026-01-05');
    expect(await page.title()).toBe('IMO9321483 2026-01-05 · vessel-export');
    expect(await page.evaluate('left')).toBe(1);
    await page.goBack();
    await heading(page, 'Coverage of measurements');
    expect(JSON.parse(await seen(page)).query).toBe('from=2026-01-01');
    await page.goForward();
    await heading(page, 'IMO9321483 2026-01-05');
    await page.goBack();
    await page.getByRole('button', { name: 'go' }).click();
    await heading(page, 'Coverage of other');

    const nav = page.getByRole('navigation', { name: 'Views' });
    await nav.getByRole('link', { name: 'a<b> & "c"' }).click();
    await heading(page, 'Coverage of a<b> & "c"');
    expect(await nav.locator('[aria-current=page]').textContent()).toBe('a<b> & "c"');
    // A click for a new tab is the browser's.
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      nav.getByRole('link', { name: 'measurements' }).click({ modifiers: ['ControlOrMeta'] }),
    ]);
    await tab.close();
    await heading(page, 'Coverage of a<b> & "c"');
    await page.getByRole('button', { name: 'say' }).click();
    await page.getByRole('status').getByText('Forty days').waitFor();
    expect(faults).toEqual([]);
    await page.locator('#answer').click();
    await page.waitForURL('**/api/about');
    await close();
  });

  test('what goes wrong is said, with a way on', async () => {
    await using served = await serve({ actPassword: ACT });
    const { page, close } = await open(`${served.url}/day/x/y/2026-01-05`);
    await heading(page, 'Not found');
    await page.goto(`${served.url}/day/broken/y/2026-01-05`);
    await heading(page, 'This view failed');
    await page.goto(`${served.url}/coverage/measurements`);
    await heading(page, 'Coverage of measurements');
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'a day' }).click();
    await heading(page, 'No connection');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await heading(page, 'IMO9321483 2026-01-05');
    await close();
  });

  test('light and dark are those of the system until one is chosen, which is kept', async () => {
    await using served = await serve();
    const { page, faults, close } = await open(served.url, { colorScheme: 'dark' });
    await heading(page, 'Coverage of measurements');
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(await ground()).toBe('rgb(18, 23, 29)');
    await page.evaluate(
      "document.addEventListener('themechange', () => { document.title = document.documentElement.dataset.theme; })",
    );
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(() => page.title()).toBe('light');
    expect(await ground()).toBe('rgb(255, 255, 255)');
    await page.getByLabel('Colours').selectOption('Dark');
    await expect.poll(() => page.title()).toBe('dark');
    expect(await ground()).toBe('rgb(18, 23, 29)');
    await page.reload();
    await heading(page, 'Coverage of measurements');
    expect(await ground()).toBe('rgb(18, 23, 29)');
    expect(await page.getByLabel('Colours').inputValue()).toBe('dark');
    expect(faults).toEqual([]);
    await close();
  });

  test('a name and a password in the address do not break it', async () => {
    await using served = await serve({ readPassword: READ });
    // A document of such an address may fetch nothing by a relative one, and push no absolute one without them.
    const withCredentials = served.url.replace('://', '://ada:hush%20hush@');
    const { page, faults, close } = await open(`${withCredentials}/coverage/measurements`);
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Password').fill(READ);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(page, 'Coverage of measurements');
    expect(await page.evaluate('document.baseURI')).toContain('hush');
    await page.getByRole('button', { name: 'replace' }).click();
    await page.getByRole('link', { name: 'a day' }).click();
    await heading(page, 'IMO9321483 2026-01-05');
    await page.goBack();
    await heading(page, 'Coverage of measurements');
    expect(new URL(page.url()).search).toBe('?from=2026-01-01');
    expect(await page.content()).not.toContain('hush');
    expect(faults).toEqual([]);
    await close();
  });

  test('fits a telephone, and nothing moves for who wants that', async () => {
    await using served = await serve({ actPassword: ACT });
    const { page, close } = await open(served.url, {
      viewport: { width: 360, height: 640 },
      reducedMotion: 'reduce',
    });
    await heading(page, 'Coverage of measurements');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    const moving = await page.evaluate(
      "[...document.querySelectorAll('*')].filter((each) => getComputedStyle(each).transitionDuration !== '0s').length",
    );
    expect(moving).toBe(0);
    await close();
  });
});
