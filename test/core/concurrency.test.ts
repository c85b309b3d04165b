import { expect, test } from 'vitest';
import { runInline, type TaskResult } from '../../src/core/concurrency.ts';
import { CancelledError, DataError, FatalError } from '../../src/core/errors.ts';

/** Runs numbered tasks; each waits until the test lets it go. */
function startTasks(count: number, concurrency: number, signal = new AbortController().signal) {
  const begun: number[] = [];
  const settled: [number, TaskResult<string>][] = [];
  const gates = Array.from({ length: count }, () => Promise.withResolvers<string>());
  const ended = runInline([...gates.keys()], {
    concurrency,
    signal,
    perform: (task, scope) => {
      begun.push(task);
      const aborted = new Promise<never>((_, reject) =>
        scope.addEventListener('abort', () => reject(scope.reason)),
      );
      return Promise.race([gates[task]!.promise, aborted]);
    },
    onSettled: (task, result) => settled.push([task, result]),
  });
  ended.catch(() => {});
  return { begun, settled, gates, ended };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('so many tasks run at once, in order', async () => {
  const { begun, gates, ended } = startTasks(4, 2);
  expect(begun).toEqual([0, 1]);
  gates[1]!.resolve('b');
  await turn();
  expect(begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve('x');
  await ended;
  expect(begun).toEqual([0, 1, 2, 3]);
});

test('a failure is a result, and the others go on', async () => {
  const { settled, gates, ended } = startTasks(2, 1);
  const failure = new DataError('bad', 'bad data');
  gates[0]!.reject(failure);
  gates[1]!.resolve('fine');
  await ended;
  expect(settled).toEqual([
    [0, { error: failure }],
    [1, { outcome: 'fine' }],
  ]);
});

test('a refused credential stops everything and is thrown', async () => {
  const { begun, settled, gates, ended } = startTasks(5, 2);
  const refused = new FatalError('credentials-refused', 'refused');
  gates[0]!.reject(refused);
  await expect(ended).rejects.toBe(refused);
  expect(begun).toEqual([0, 1]);
  expect(settled.map(([task]) => task)).toEqual([0, 1]);
});

test('another fatal error concerns its own task only', async () => {
  const { gates, ended, begun } = startTasks(2, 1);
  gates[0]!.reject(new FatalError('encode-failed', 'broken'));
  gates[1]!.resolve('fine');
  await ended;
  expect(begun).toEqual([0, 1]);
});

test('cancelling aborts what runs and begins nothing more', async () => {
  const stop = new AbortController();
  const { begun, settled, ended } = startTasks(5, 2, stop.signal);
  stop.abort(new CancelledError('enough'));
  await expect(ended).rejects.toBeInstanceOf(CancelledError);
  expect(begun).toEqual([0, 1]);
  expect(settled).toHaveLength(2);
});

test('a task that only waits gives its place to the next one, and is waited for in the end', async () => {
  const begun: number[] = [];
  const gates = [0, 1, 2].map(() => Promise.withResolvers<string>());
  const settled: number[] = [];
  let isOver = false;
  const ended = runInline([0, 1, 2], {
    concurrency: 1,
    signal: new AbortController().signal,
    perform: (task, _, leave) => {
      begun.push(task);
      if (task === 0) leave();
      return gates[task]!.promise;
    },
    onSettled: (task) => settled.push(task),
  }).then(() => {
    isOver = true;
  });
  await turn();
  expect(begun).toEqual([0, 1]);
  gates[1]!.resolve('b');
  gates[2]!.resolve('c');
  await turn();
  expect([begun, settled, isOver]).toEqual([[0, 1, 2], [1, 2], false]);
  gates[0]!.resolve('a');
  await ended;
  expect(settled).toEqual([1, 2, 0]);
});
