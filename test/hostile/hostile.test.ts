/** The short form of `npm run hostile`: an input of every category, at real processes. */
import { expect, test } from 'vitest';
import { listInputs, runHostile } from './run-hostile.ts';

/** Real processes, floods of connections: a bound on what hangs, on a machine that has much else to do. */
const HANG_MS = 300_000;

test('there are more than a thousand inputs, and no two of a category have the same name', () => {
  const listed = listInputs({ isShort: false, only: [] });
  expect(listed.length).toBeGreaterThan(1_000);
  const names = listed.map(({ face, category, name }) => `${face} ${category} ${name}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('each face holds against an input of every category', { timeout: HANG_MS }, async () => {
  const choice = { isShort: true, only: [] };
  const sent: string[] = [];
  const notHeld: string[] = [];
  await runHostile(choice, ({ name, finding }) => {
    sent.push(name);
    if (finding !== undefined) notHeld.push(`${name}: ${finding}`);
  });
  expect(notHeld).toEqual([]);
  expect(sent).toEqual(listInputs(choice).map(({ name }) => name));
});
