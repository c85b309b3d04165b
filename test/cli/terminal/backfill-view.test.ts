import { expect, test } from 'vitest';
import { createBackfillView, describeBackfill } from '../../../src/cli/terminal/progress-view.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

test('progress is shown with the time left at the rate so far', () => {
  const progress = { due: 400, done: 120, failed: 2, queued: 40, left: 238, finished: false, troubles: [] };
  expect(describeBackfill('b', progress, { ended: 61, seconds: 60 })).toBe(
    'b: 120 of 400 vessel-days, 2 failed, 40 in queue, 4 min 33 s left',
  );
  expect(describeBackfill('b', { ...progress, failed: 0 }, { ended: 0, seconds: 0 })).toBe(
    'b: 120 of 400 vessel-days, 40 in queue',
  );
});

test('elsewhere than on a terminal a line is written whenever a tenth more is done', () => {
  const said: string[] = [];
  const view = createBackfillView({ write: (text) => void said.push(text) }, createManualClock());
  for (const done of [0, 5, 10, 19, 20])
    view.show('b', { due: 100, done, failed: 0, queued: 1, left: 0, finished: false, troubles: [] });
  view.print('the end');
  view.end();
  const line = (done: number) => `b: ${done} of 100 vessel-days, 1 in queue\n`;
  expect(said).toEqual([
    line(0),
    line(10).replace('\n', ', 0 s left\n'),
    line(20).replace('\n', ', 0 s left\n'),
    'the end\n',
  ]);
});
