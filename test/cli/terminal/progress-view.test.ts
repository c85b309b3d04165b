import { expect, test } from 'vitest';
import {
  createBackfillView,
  createProgressView,
  describeBackfill,
  describeProgress,
} from '../../../src/cli/terminal/progress-view.ts';
import { formatCoverage } from '../../../src/cli/terminal/status-view.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const day = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const nextDay = { ...day, date: '2026-01-06' };

function openView(isTTY: boolean, columns = 120) {
  const written: string[] = [];
  const clock = createManualClock();
  const view = createProgressView({ write: (text) => written.push(text), isTTY, columns }, clock);
  return { view, written, clock };
}

const OUTLOOK = {
  rows: 500_000,
  expectedRows: 1_000_000,
  counted: true,
  share: 0.5,
  rowsPerSecond: 250_000,
  secondsLeft: 2,
  isLeast: false,
};

test('the line says rows of rows counted, the rate and the time left', () => {
  expect(describeProgress(OUTLOOK, 1, 0)).toEqual([
    '0/1 vessel-days',
    '500,000 of 1.00 M rows',
    '250,000 rows/s',
    '2 s left',
  ]);
});

test('what is not counted or not begun yet is said to be about or over', () => {
  const words = describeProgress({ ...OUTLOOK, counted: false, isLeast: true }, 4, 1);
  expect(words).toContain('500,000 of about 1.00 M rows');
  expect(words).toContain('over 2 s left');
  const unknown = { ...OUTLOOK, expectedRows: undefined, secondsLeft: undefined, rowsPerSecond: 0 };
  expect(describeProgress(unknown, 2, 1)).toEqual(['1/2 vessel-days', '500,000 rows', '', '']);
});

test('on a terminal the bar is redrawn, at most ten times a second', async () => {
  const { view, written, clock } = openView(true);
  view.onEvent({ kind: 'planned', days: [day] });
  view.onEvent({ kind: 'day-rows', day, rows: 1, rowsKnown: 2 });
  expect(written).toHaveLength(1);
  await clock.advance(100);
  view.onEvent({ kind: 'day-rows', day, rows: 2, rowsKnown: 2 });
  expect(written).toHaveLength(2);
  expect(written.at(-1)).toContain('2 of 2 rows');
});

test('in 80 columns the time left is there, and the line fits', async () => {
  const { view, written, clock } = openView(true, 80);
  const days = Array.from({ length: 1_825 }, (_, i) => ({ ...day, vessel: `IMO${i}` }));
  view.onEvent({ kind: 'planned', days: days });
  for (const one of days)
    view.onEvent({ kind: 'day-rows', day: one, rows: 9_000_000, rowsKnown: 19_000_000 });
  await clock.advance(60_000);
  view.onEvent({ kind: 'day-rows', day, rows: 9_000_000, rowsKnown: 19_000_000 });
  const line = written.at(-1)!.replace('\r\u001b[2K', '');
  expect(line).toMatch(/^█+░+ {2}0\/1,825 vessel-days .* \d+ \w+ \d+ \w+ left$/);
  expect(line.length).toBeLessThan(80);
});

test('a log line stands above the bar, which is drawn again below it', () => {
  const { view, written } = openView(true, 40);
  view.onEvent({ kind: 'planned', days: [day] });
  const bar = written.at(-1)!.replace('\r\u001b[2K', '');
  view.log('warn  something that is too long for a line of this terminal\n');
  expect(written.slice(1)).toEqual([
    '\r\u001b[2K',
    'warn  something that is too long for a\n  line of this terminal\n',
    bar,
  ]);
});

test('elsewhere nothing is drawn, and failures are lines', () => {
  const { view, written } = openView(false);
  view.onEvent({ kind: 'planned', days: [day, nextDay] });
  view.onEvent({ kind: 'day-rows', day, rows: 1, rowsKnown: 2 });
  view.onEvent({ kind: 'day-result', result: { day, status: 'failed', code: 'x', message: 'it broke' } });
  view.end();
  expect(written).toEqual(['failed: it broke\n']);
});

test('what stops every vessel-day alike is said once', () => {
  const { view, written } = openView(false);
  view.onEvent({ kind: 'planned', days: [day, nextDay] });
  for (const one of [day, nextDay])
    view.onEvent({
      kind: 'day-result',
      result: { day: one, status: 'failed', code: 'x', message: 'the credentials were refused' },
    });
  expect(written).toHaveLength(1);
  expect(view.results).toHaveLength(2);
});

test('the closing line says rows, bytes, time and place of what was written', async () => {
  const { view, clock } = openView(false);
  expect(view.closingLine('file:///lake')).toBe('');
  view.onEvent({ kind: 'planned', days: [day, nextDay] });
  await clock.advance(62_000);
  view.onEvent({
    kind: 'day-result',
    result: { day, status: 'published', rows: 1_234_567, sizeBytes: 8_640_000 },
  });
  view.onEvent({ kind: 'day-result', result: { day: nextDay, status: 'done', rows: 99 } });
  expect(view.closingLine('file:///lake')).toBe(
    'wrote 1,234,567 rows (8.64 MB) in 1 min 2 s to file:///lake',
  );
});

test('coverage is a grid of vessels and dates, with rows or the state in a word', () => {
  expect(
    formatCoverage([
      { day, status: 'published', rows: 1_234 },
      { day: nextDay, status: 'empty', rows: 0 },
      { day: { ...day, vessel: 'IMO9445100' }, status: 'failed' },
      { day: { ...nextDay, vessel: 'IMO9445100' }, status: 'not-due' },
    ]),
  ).toBe(
    [
      'measurements  2026-01-05  2026-01-06',
      'IMO9321483         1,234       empty',
      'IMO9445100        failed     not due',
    ].join('\n'),
  );
});

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
