import { spawnSync } from 'node:child_process';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

/** A real browser for tests. */
export interface TestBrowser {
  /**
   * A page of a context of its own, at an address. It may ask nothing of other hosts, and neither throw nor log an error:
   * what it did of that is in `faults`.
   */
  open(
    url: string,
    options?: BrowserContextOptions,
  ): Promise<{ readonly page: Page; readonly faults: string[] }>;
  stop(): Promise<void>;
}

/** A bound on what hangs, not on what is slow: of every wait for a page that names no other. */
const PATIENCE_MS = 60_000;

/**
 * Chromium of the system, headless; undefined where there is none: said loudly, and where `CI` is set an error. Call it
 * at the top of a test file, pass the answer to `describe.skipIf`, and `stop` it in the end.
 */
export async function browserForTests(): Promise<TestBrowser | undefined> {
  const found = spawnSync('sh', ['-c', 'command -v chromium || command -v google-chrome'], {
    encoding: 'utf8',
  });
  const executablePath = found.stdout.trim();
  if (executablePath === '') {
    const text = 'chromium is not on PATH: bash .ci/install-chromium';
    if (process.env.CI) throw new Error(`the browser tests must run here (CI is set): ${text}`);
    process.stderr.write(`\nSKIPPED, the browser tests: ${text}\n\n`);
    return undefined;
  }
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  const browser: Browser = await chromium.launch({ executablePath, headless: true, args });
  return {
    async open(url, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(`thrown: ${error.message}`));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(`logged: ${message.text()}`);
      });
      const { host } = new URL(url);
      page.on('request', (request) => {
        const asked = new URL(request.url());
        if (asked.host !== host && !/^(?:data|blob):$/.test(asked.protocol))
          faults.push(`asked: ${request.url()}`);
      });
      await page.goto(url);
      return { page, faults };
    },
    stop: () => browser.close(),
  };
}
