import { spawnSync } from 'node:child_process';
import type { BrowserContext, BrowserContextOptions, ConsoleMessage, Page, Request } from 'playwright-core';
import { afterAll } from 'vitest';
import { closeSharedBrowser, sharedBrowser } from './shared-browser.ts';

/** A page in a browser. Who is done with it closes it. */
export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  readonly faults: string[];
  close(): Promise<void>;
}

/** A real browser for the tests of a file. */
export interface TestBrowser {
  readonly executablePath: string;
  /**
   * A page at an address, without cookies, storage or routes of others. It may ask nothing of other hosts, and neither throw
   * nor log an error: what it did of that is in `faults`. With `options` it has a context of its own, without them one that
   * was closed before: a new one costs more than most tests do with it. `prepare` comes before its first request.
   */
  open(
    url: string,
    options?: BrowserContextOptions,
    prepare?: (page: Page) => Promise<unknown>,
  ): Promise<OpenedPage>;
}

/** A bound on what hangs, not on what is slow: of every wait for a page that names no other. */
const PATIENCE_MS = 50_000;

/**
 * Chromium of the system, the one that has no windows if it is there. Undefined where there is none: said loudly, and where
 * `CI` is set an error. Call it at the top of a test file and pass the answer to `describe.skipIf`. All files of a worker
 * share a browser; what a file has opened in it closes with the file.
 */
export async function browserForTests(): Promise<TestBrowser | undefined> {
  const names = ['chromium-headless-shell', 'chromium', 'google-chrome'];
  const found = spawnSync('sh', ['-c', names.map((name) => `command -v ${name}`).join(' || ')], {
    encoding: 'utf8',
  });
  const executablePath = found.stdout.trim();
  if (executablePath === '') {
    const text = 'no Chromium is on PATH: bash .ci/install-chromium';
    if (process.env.CI) throw new Error(`the browser tests must run here (CI is set): ${text}`);
    process.stderr.write(`\nSKIPPED, the browser tests: ${text}\n\n`);
    return undefined;
  }
  const viewport = { width: 1280, height: 800 };
  // Vitest waits for this before it ends a worker, but has no public name for it: without it a signal ends both.
  const worker = Reflect.get(globalThis, '__vitest_worker__') as
    | { onCleanup?(end: () => Promise<void>): void }
    | undefined;
  worker?.onCleanup?.(closeSharedBrowser);
  const contexts = new Set<BrowserContext>();
  const closed: Page[] = [];
  afterAll(async () => {
    for (const context of contexts) await context.close();
  });

  async function newPage(options?: BrowserContextOptions): Promise<Page> {
    const browser = await sharedBrowser(executablePath);
    const context = await browser.newContext({ viewport, ...options });
    contexts.add(context);
    context.once('close', () => contexts.delete(context));
    context.setDefaultTimeout(PATIENCE_MS);
    return await context.newPage();
  }

  return {
    executablePath,
    async open(url, options, prepare) {
      const used = options === undefined ? closed.pop() : undefined;
      // None outlasts a crash.
      const page = used?.isClosed() === false ? used : await newPage(options);
      const { faults, unwatch } = watchFaults(page, new URL(url).host);
      await prepare?.(page);
      await page.goto(url);
      const close = async () => {
        unwatch();
        if (options !== undefined) return await page.context().close();
        const isClean = await clean(page).then(
          () => true,
          () => false,
        );
        if (!isClean) return await page.context().close();
        closed.push(page);
      };
      return { page, faults, close, [Symbol.asyncDispose]: close };
    },
  };
}

function watchFaults(page: Page, host: string): { readonly faults: string[]; unwatch(): void } {
  const faults: string[] = [];
  const onError = (error: Error) => void faults.push(`thrown: ${error.message}`);
  const onMessage = (message: ConsoleMessage) => {
    // What comes late of a page that was here before names that one's address, or the icon that a clean page has not.
    const { url } = message.location();
    const isOfAnother =
      URL.canParse(url) &&
      (new URL(url).host !== host || /^\/(?:clean|favicon\.ico)$/.test(new URL(url).pathname));
    if (message.type() === 'error' && !isOfAnother) faults.push(`logged: ${message.text()} (${url})`);
  };
  const onRequest = (request: Request) => {
    const asked = new URL(request.url());
    if (asked.host !== host && !/^(?:data|blob):$/.test(asked.protocol))
      faults.push(`asked: ${request.url()}`);
  };
  page.on('pageerror', onError).on('console', onMessage).on('request', onRequest);
  const unwatch = () =>
    void page.off('pageerror', onError).off('console', onMessage).off('request', onRequest);
  return { faults, unwatch };
}

/** As if nobody had used it. */
async function clean(page: Page): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.clearCookies();
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.mouse.move(0, 0);
  // Of the same site, so that its process stays: that of a blank page is another. Without an icon it would ask for one later.
  const body = '<link rel="icon" href="data:,">';
  await page.route('**/clean', (route) => route.fulfill({ body, contentType: 'text/html' }));
  await page.goto(new URL('/clean', page.url()).href);
  await page.unroute('**/clean');
}
