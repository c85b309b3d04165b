/** The short form of `npm run hostile`: some inputs of every category, at real processes. */
import { expect, test } from 'vitest';
import type { Sent } from './input.ts';
import { FACES, listInputs, runHostile } from './run-hostile.ts';

/** Real processes, hundreds of requests: a bound on what hangs, on a machine that has much else to do. */
const HANG_MS = 300_000;

test('there are at least 600 inputs, and no two of a category have the same name', () => {
  const listed = listInputs({ isShort: false, only: [] });
  expect(listed.length).toBeGreaterThanOrEqual(600);
  const names = listed.map(({ face, category, name }) => `${face} ${category} ${name}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each(FACES)('the %s holds against some inputs of every category', { timeout: HANG_MS }, async (face) => {
  const sent: Sent[] = [];
  await runHostile({ isShort: true, only: [], face }, (one) => sent.push(one));
  const notHeld = sent.filter(({ finding }) => finding !== undefined);
  expect(notHeld).toEqual([]);
  expect(sent.length).toBe(listInputs({ isShort: true, only: [], face }).length);
});
