/** Looking at the coverage map as a person does: by the pixels of its canvas, and by what is announced. */
import { createHash } from 'node:crypto';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { addDays } from '../../src/core/model/index.ts';
import type { CellState, CoverageAnswer } from '../../src/web/answers.ts';
import { CELL_LETTERS } from '../../src/web/answers.ts';
import type { OpenedPage, TestBrowser } from '../helpers/browser.ts';

/** Height of the dates above the cells, CSS pixels. */
export const AXIS_PX = 38;
const ANSWER_PATHS = '**/api/jobs/*/coverage*';

/** Open an address of the page and wait until the map, or what stands in its place, is there. */
export async function openCoverage(
  browser: TestBrowser,
  url: string,
  options?: BrowserContextOptions,
): Promise<OpenedPage> {
  const opened = await browser.open(url, options);
  await shown(opened.page);
  return opened;
}

/** The same with another answer than the server's: a fleet that no ledger of a test could hold. */
export async function openMadeUp(
  browser: TestBrowser,
  url: string,
  answer: Partial<CoverageAnswer>,
  options?: BrowserContextOptions,
): Promise<OpenedPage> {
  const opened = await browser.open(url, options, (made) =>
    made.route(ANSWER_PATHS, async (route) => {
      const real = (await (await route.fetch()).json()) as CoverageAnswer;
      await route.fulfill({ json: { ...real, ...answer } });
    }),
  );
  await shown(opened.page);
  return opened;
}

async function shown(page: Page): Promise<void> {
  // The lake is read by others' leave; what the page makes of the answer is measured apart.
  await page.locator('.coverage').waitFor();
  await drawn(page);
}

/** What was asked to be drawn before is drawn: the map draws with the next frame. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))));
}

/** An answer of vessels × days that are all in one state, but for those that are named. */
export function answerOf(
  vessels: readonly string[],
  days: number,
  others: Readonly<Record<string, CellState>> = {},
  all: CellState = 'published',
): Partial<CoverageAnswer> {
  const from = '2025-01-01';
  const to = addDays(from, days);
  const cells = new Array<CellState>(vessels.length * days).fill(all);
  for (const [place, state] of Object.entries(others)) {
    const [vessel, day] = place.split(' ').map(Number);
    cells[vessel! * days + day!] = state;
  }
  const totals = Object.fromEntries(Object.keys(CELL_LETTERS).map((state) => [state, 0]));
  for (const state of cells) totals[state]!++;
  const isGap = (state: CellState) => state === 'missing' || state === 'failed';
  const firstGaps = vessels.map((_, row) => {
    const gap = cells.slice(row * days, (row + 1) * days).findIndex(isGap);
    return gap === -1 ? null : gap;
  });
  return {
    firstGaps,
    ...{ from, to, vessels, cells: cells.map((state) => CELL_LETTERS[state]).join('') },
    ...{ totals: totals as CoverageAnswer['totals'], firstDate: from, oldestGap: null, lastPublished: null },
    ...{ troubles: [], troubleCount: 0, warnings: [] },
  };
}

/** Where a colour of the page (`--state-failed`) is in a canvas: its bounds in pixels of the screen, right and bottom exclusive. */
export async function whereIs(page: Page, colour: string, canvas = '.cov-canvas') {
  await drawn(page);
  return await page.evaluate(
    ([name, selector]) => {
      const probe = document.createElement('canvas').getContext('2d')!;
      const span = document.body.appendChild(document.createElement('span'));
      span.style.setProperty('color', `var(${name})`);
      probe.fillStyle = getComputedStyle(span).color;
      span.remove();
      probe.fillRect(0, 0, 1, 1);
      const [wanted] = new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer);
      const seen = document.querySelector<HTMLCanvasElement>(selector!)!;
      const { width, height } = seen;
      const pixels = new Uint32Array(seen.getContext('2d')!.getImageData(0, 0, width, height).data.buffer);
      let [left, top, right, bottom, count] = [width, height, 0, 0, 0];
      for (let i = 0; i < pixels.length; i++) {
        if (pixels[i] !== wanted) continue;
        const [x, y] = [i % width, Math.floor(i / width)];
        [left, top, right, bottom] = [
          Math.min(left, x),
          Math.min(top, y),
          Math.max(right, x + 1),
          Math.max(bottom, y + 1),
        ];
        count++;
      }
      return count === 0 ? null : { left, top, right, bottom, pixels: count };
    },
    [colour, canvas],
  );
}

/** Everything in the map, as a digest to be compared. */
export async function picture(page: Page): Promise<string> {
  await drawn(page);
  const url = await page.evaluate(() =>
    document.querySelector<HTMLCanvasElement>('.cov-canvas')!.toDataURL(),
  );
  return createHash('sha256').update(url).digest('hex');
}

/** Where the cells begin, in CSS pixels of the box: left of it are names. */
export async function namesWidth(page: Page): Promise<number> {
  await drawn(page);
  return await page.evaluate(
    ([axis]) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.cov-canvas')!;
      // The line between the dates and the cells reaches over all; names stand in the middle of their rows.
      const y = Math.round(axis! * devicePixelRatio) + 1;
      const line = new Uint32Array(canvas.getContext('2d')!.getImageData(0, y, canvas.width, 1).data.buffer);
      return line.findIndex((colour) => colour !== line[0]) / devicePixelRatio;
    },
    [AXIS_PX],
  );
}

/** Point at a cell by its numbers, where the zoom is `days` and nothing is scrolled. */
export async function pointOf(page: Page, position: number, day: number): Promise<{ x: number; y: number }> {
  const box = (await page.locator('.cov-scroller').boundingBox())!;
  const left = await namesWidth(page);
  return { x: box.x + left + (day + 0.5) * DAY_PX, y: box.y + AXIS_PX + (position + 0.5) * ROW_PX };
}
/** Of a cell in the zoom `days`. */
export const DAY_PX = 34;
export const ROW_PX = 26;

/** What is announced next, after something was done. */
export async function announced(page: Page, text: string | RegExp): Promise<void> {
  const told = () => page.locator('#announcer').textContent();
  if (typeof text === 'string') await expect.poll(told).toBe(text);
  else await expect.poll(told).toMatch(text);
}

export async function query(page: Page): Promise<Record<string, string>> {
  return await page.evaluate(() => Object.fromEntries(new URLSearchParams(location.search)));
}
