import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';

let shared: Promise<Browser> | undefined;

/**
 * The one Chromium of this process, headless, which ends with it: started when it is asked for first, and anew after it
 * has crashed or could not be started.
 */
export function sharedBrowser(executablePath: string): Promise<Browser> {
  shared ??= launch(executablePath);
  return shared;
}

/** Nothing to do where none was started. */
export async function closeSharedBrowser(): Promise<void> {
  const browser = await shared?.catch(() => undefined);
  await browser?.close();
}

async function launch(executablePath: string): Promise<Browser> {
  // What a browser that is killed leaves in the folder for temporary files.
  const TMPDIR = mkdtempSync(join(tmpdir(), 'vessel-export-browser-'));
  const remove = () => rmSync(TMPDIR, { recursive: true, force: true, maxRetries: 5 });
  const forget = () => {
    shared = undefined;
    process.off('SIGTERM', endWithIt).off('exit', remove);
    remove();
  };
  process.once('SIGTERM', endWithIt);
  try {
    const args = ['--no-sandbox', '--disable-dev-shm-usage'];
    const env = { ...process.env, TMPDIR };
    const browser = await chromium.launch({
      executablePath,
      headless: true,
      handleSIGTERM: false,
      args,
      env,
    });
    // After Playwright's listener, which kills it.
    process.once('exit', remove);
    return browser.once('disconnected', forget);
  } catch (error) {
    forget();
    throw error;
  }
}

/**
 * Half a second after this signal comes one that cannot be caught: too short to ask a browser to close. Playwright kills it
 * when the process exits, and removes its profile; no signal does that by itself. After SIGKILL the browser finds its pipe
 * closed, and ends.
 */
function endWithIt(signal: NodeJS.Signals): void {
  // `process.exit` is not to be had while tests run.
  process.emit('exit', 1);
  process.kill(process.pid, signal);
}
