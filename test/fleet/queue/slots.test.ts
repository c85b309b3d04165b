import { expect, test } from 'vitest';
import { createSlots } from '../../../src/fleet/queue/slots.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const NEVER = new AbortController().signal;

function open(slots: number) {
  const clock = createManualClock(0);
  const held: number[] = [];
  const work = createSlots(slots, clock, (jobs) => held.push(jobs));
  const begun: string[] = [];
  /** Begin something; `leave` and `end` are its to be called. */
  const begin = (name: string, signal = NEVER) => {
    const [entered, end] = [Promise.withResolvers<() => void>(), Promise.withResolvers<void>()];
    const ended = work.within(signal, async (leave) => {
      begun.push(name);
      entered.resolve(leave);
      await end.promise;
    });
    return { entered: entered.promise, end: end.resolve, ended };
  };
  return { clock, held, begun, begin };
}

test('so many are at work at once, the others in their order', async () => {
  const { begun, begin, held } = open(2);
  const [a, b, c] = [begin('a'), begin('b'), begin('c'), begin('d')];
  await Promise.all([a.entered, b.entered]);
  expect(begun).toEqual(['a', 'b']);
  b.end();
  await c.entered;
  expect(begun).toEqual(['a', 'b', 'c']);
  expect(held).toEqual([]);
});

test('who only waits gives the place away once, and more jobs are held while that happens', async () => {
  const { clock, begun, begin, held } = open(1);
  const [a, b, c] = [begin('a'), begin('b'), begin('c')];
  const leave = await a.entered;
  leave();
  leave();
  await b.entered;
  expect([begun, held]).toEqual([['a', 'b'], [3]]);
  (await b.entered)();
  await c.entered;
  expect(held).toEqual([3, 5]);
  for (const one of [a, b, c]) one.end();
  await Promise.all([a.ended, b.ended, c.ended]);
  await clock.advance(10_000);
  const last = begin('last');
  await last.entered;
  expect(held.at(-1)).toBe(1);
  last.end();
  await last.ended;
});

test('who is told to stop leaves the line, and the place goes to the next', async () => {
  const { begun, begin } = open(1);
  const a = begin('a');
  await a.entered;
  const stop = new AbortController();
  const b = begin('b', stop.signal);
  const c = begin('c');
  stop.abort(new Error('stop'));
  await expect(b.ended).rejects.toThrow('stop');
  a.end();
  await c.entered;
  expect(begun).toEqual(['a', 'c']);
});
