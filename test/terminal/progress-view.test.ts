import { expect, test } from 'vitest';
import { formatCoverage } from '../../src/terminal/coverage.ts';
import { formatSeconds, formatTable } from '../../src/terminal/format.ts';
import { createProgressView, describeProgress } from '../../src/terminal/progress-view.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

const day = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };

function openView(isTTY: boolean) {
  const written: string[] = [];
  const clock = createManualClock();
  const view = createProgressView({ write: (text) => written.push(text), isTTY, columns: 120 }, clock);
  return { view, written, clock };
}

test('the line shows rows of rows known, the rate and the time left', () => {
  const line = describeProgress([{ rows: 500_000, rowsKnown: 1_000_000 }], 1, 0, 2);
  expect(line).toBe(
    '████████████░░░░░░░░░░░░  0/1 vessel-days  500,000 of 1,000,000 rows  250,000 rows/s  2 s left',
  );
});

test('days that were not counted yet are expected to be like the others', () => {
  const line = describeProgress([{ rows: 1_000, rowsKnown: 1_000 }], 4, 1, 1);
  expect(line).toContain('3 s left');
  expect(line.startsWith('██████░')).toBe(true);
});

test('without counts the vessel-days themselves make the bar', () => {
  expect(describeProgress([{ rows: 10, rowsKnown: undefined }], 2, 1, 0)).toBe(
    '████████████░░░░░░░░░░░░  1/2 vessel-days  10 rows  0 rows/s',
  );
});

test('on a terminal the bar is redrawn, at most ten times a second', async () => {
  const { view, written, clock } = openView(true);
  view.onPlanned(1);
  view.onProgress(day, { rows: 1, rowsKnown: 2 });
  expect(written).toHaveLength(1);
  await clock.advance(100);
  view.onProgress(day, { rows: 2, rowsKnown: 2 });
  expect(written).toHaveLength(2);
  expect(written.at(-1)).toContain('2 of 2 rows');
});

test('elsewhere nothing is drawn, and failures are lines', () => {
  const { view, written } = openView(false);
  view.onPlanned(2);
  view.onProgress(day, { rows: 1, rowsKnown: 2 });
  view.onResult({ day, status: 'failed', code: 'x', message: 'it broke' });
  view.end();
  expect(written).toEqual(['failed: it broke\n']);
});

test('what stops every vessel-day alike is said once', () => {
  const { view, written } = openView(false);
  view.onPlanned(2);
  for (const date of ['2026-01-05', '2026-01-06']) {
    view.onResult({
      day: { ...day, date },
      status: 'failed',
      code: 'x',
      message: 'the credentials were refused',
    });
  }
  expect(written).toHaveLength(1);
  expect(view.results).toHaveLength(2);
});

test('coverage is a grid of vessels and dates, with rows or the state in a word', () => {
  expect(
    formatCoverage([
      { day, status: 'published', rows: 1_234 },
      { day: { ...day, date: '2026-01-06' }, status: 'empty', rows: 0 },
      { day: { ...day, vessel: 'IMO9445100' }, status: 'failed' },
      { day: { ...day, vessel: 'IMO9445100', date: '2026-01-06' }, status: 'not-due' },
    ]),
  ).toBe(
    [
      'measurements  2026-01-05  2026-01-06',
      'IMO9321483         1,234       empty',
      'IMO9445100        failed     not due',
    ].join('\n'),
  );
});

test('durations and tables are written for people', () => {
  expect([8, 200, 18_720].map(formatSeconds)).toEqual(['8 s', '3 min 20 s', '5 h 12 min']);
  expect(
    formatTable([
      ['vessel', 'rows'],
      ['IMO9321483', 1_234],
    ]),
  ).toBe('vessel      rows\nIMO9321483  1,234');
});
