import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import { browserForTests } from '../helpers/browser.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import type { ServedPage } from '../helpers/web.ts';
import { servePage, signIn } from '../helpers/web.ts';

const ACT = 'a password to act!';
const JOBS = [{ name: 'measurements', dataset: 'measurements' }] as unknown as Job[];
const BODY = JSON.stringify({ act: 'accept-warning', job: 'measurements', vessel: 'IMO9321483' });

const browser = await browserForTests();

describe.skipIf(browser === undefined)("another site's page", () => {
  let served: ServedPage;
  let evil: Awaited<ReturnType<typeof startHttpServer>>;
  let evilUrl: string;
  const said: string[] = [];

  beforeAll(async () => {
    const say = (fields: object, msg: string) => void said.push(`${msg} ${JSON.stringify(fields)}`);
    const log = { debug() {}, info: say, warn: say, error: say };
    served = await servePage({ store: createMemoryStore(), jobs: JOBS, log }, { actPassword: ACT });
    // Another port of one host is another origin, but the same site: the browser sends the cookie along.
    evil = await startHttpServer((_request, answer) =>
      answer.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title><body>'),
    );
    evilUrl = `${evil.url}/`;
  });
  afterAll(async () => {
    await served.close();
    await evil.close();
  });

  /** A page of the other site, in a browser that has signed in at ours; and what ours answered. */
  async function open() {
    const { page, close } = await browser!.open(evilUrl);
    const [name, value] = (await signIn(served.url, ACT)).split('=') as [string, string];
    const cookie = { name, value, url: served.url, httpOnly: true, sameSite: 'Strict' as const };
    await page.context().addCookies([cookie]);
    const answers: string[] = [];
    page.on('response', (response) => {
      if (!response.url().startsWith(served.url)) return;
      const { pathname } = new URL(response.url());
      answers.push(`${response.request().method()} ${pathname} ${response.status()}`);
    });
    said.length = 0;
    return { page, answers, close };
  }

  /** What was tried may be in the log, as refused. */
  const expectNothingDone = () => {
    for (const line of said) expect(line).toMatch(/^act \{.*"outcome":"refused"/);
  };

  test('acts by no form, though it is of the same host', async () => {
    const { page, answers, close } = await open();
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      await page.goto(evilUrl);
      const script = `
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: '${served.url}/api/acts', enctype: '${enctype}' });
        const input = document.createElement('input');
        input.name = ${JSON.stringify(BODY.slice(0, -1))} + ',"x":"';
        input.value = '"}';
        form.append(input);
        document.body.append(form);
        form.submit();`;
      await Promise.all([page.waitForURL(`${served.url}/**`), page.evaluate(script)]);
      // Whatever the form looks like: what the browser says of its origin is enough.
      expect(await page.locator('body').textContent()).toContain('other-site');
    }
    expect(answers).toEqual(Array(3).fill('POST /api/acts 403'));
    expectNothingDone();
    await close();
  });

  test('neither acts nor reads by a script, and does not sign anybody in or out', async () => {
    const { page, answers, close } = await open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    const ask = (path: string, options: string) =>
      page.evaluate(
        `fetch('${served.url}${path}', ${options}).then((answer) => answer.text(), (error) => 'thrown')`,
      );
    const body = `body: ${JSON.stringify(JSON.stringify({ name: 'Eve', password: ACT }))}`;
    const json = `headers: { 'content-type': 'application/json', 'x-vessel-export': 'act' }`;
    for (const path of ['/api/acts', '/api/session', '/api/session/end']) {
      const plain = `{ method: 'POST', mode: 'no-cors', credentials: 'include', ${body} }`;
      expect(['', 'thrown']).toContain(await ask(path, plain));
      expect(await ask(path, `{ method: 'POST', credentials: 'include', ${json}, ${body} }`)).toBe('thrown');
    }
    expect(await ask('/api/about', `{ credentials: 'include' }`)).toBe('thrown');
    expect(['', 'thrown']).toContain(await ask('/api/about', `{ mode: 'no-cors', credentials: 'include' }`));
    await page.evaluate(`
      const image = new Image();
      const tried = new Promise((done) => { image.onerror = done; });
      image.src = '${served.url}/api/acts';
      navigator.sendBeacon('${served.url}/api/acts', ${JSON.stringify(BODY)});
      tried;`);
    const posts = () => asked.filter((each) => each === 'POST /api/acts').length;
    await expect.poll(posts).toBe(3);
    expect(answers.filter((answer) => / 2\d\d$/.test(answer))).toEqual([]);
    // They were sent; a sign-in or an act that was done would be in the log.
    for (const path of ['/api/session', '/api/session/end'])
      expect(asked.filter((each) => each === `POST ${path}`)).toHaveLength(2);
    expectNothingDone();
    const cookies = await page.context().cookies(served.url);
    expect(cookies.map(({ value }) => value.startsWith('act.'))).toEqual([true]);
    await close();
  });
});
