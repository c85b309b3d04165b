import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '../../src/model/index.ts';
import { createLocalStore } from '../../src/store/local.ts';
import type { WebAccess } from '../../src/web/ports.ts';
import { browserForTests } from '../helpers/browser.ts';
import type { TempFolder } from '../helpers/temp.ts';
import { newTempFolder } from '../helpers/temp.ts';
import type { ServedPage } from '../helpers/web.ts';
import { servePage } from '../helpers/web.ts';

const READ = 'a password to look';
const ACT = 'a password to act!';
const JOBS = ['measurements', 'metadata'].map((name) => ({ name, dataset: name })) as unknown as Job[];

const browser = await browserForTests();

describe.skipIf(browser === undefined)('the shell', () => {
  let folder: TempFolder;
  beforeAll(async () => {
    folder = await newTempFolder();
  });
  afterAll(async () => {
    await browser!.stop();
    await folder.remove();
  });

  const serve = (access: Partial<WebAccess> = {}): Promise<ServedPage> =>
    servePage({ store: createLocalStore(folder.path), jobs: JOBS }, access);

  test('asks who is there before it shows anything, then shows what the address names', async () => {
    await using served = await serve({ readPassword: READ, actPassword: ACT });
    const { page, faults } = await browser!.open(`${served.url}/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.screenshot({ path: '/tmp/house-signin.png' });
    expect(faults).toEqual([]);
  });
});
