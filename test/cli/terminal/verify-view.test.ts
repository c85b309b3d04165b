import { expect, test } from 'vitest';
import { FINDINGS } from '../../../src/audit/verify/findings.ts';
import { createVerifyView, formatVerified } from '../../../src/cli/terminal/verify-view.ts';
import { systemClock } from '../../../src/core/model/index.ts';

const day = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const finding = {
  name: 'size-differs' as const,
  day,
  where: 'measurements/vessel=IMO9321483/date=2026-01-05/data.parquet',
  found: '1 bytes',
  expected: '2 bytes',
  next: 'run the day again with --force',
};

function screen(isTTY: boolean) {
  return {
    isTTY,
    columns: 200,
    text: '',
    write(more: string) {
      this.text += more;
    },
  };
}

test('a finding is shown with where, found, expected and what to do', () => {
  const view = createVerifyView(screen(false), systemClock);
  view.onPlanned(1);
  view.onBytes(3_400_000);
  view.onDay({ day, checked: true, rows: 5_000, findings: [finding], warnings: [] });
  const warning = { name: 'unfinished' as const, day, text: 'attempt 2 gave the day back' };
  view.onDay({ day, checked: false, rows: undefined, findings: [], warnings: [warning] });
  expect(formatVerified(view, false)).toBe(`size-differs  measurements/IMO9321483/2026-01-05
  ${FINDINGS['size-differs'].means}
  where     measurements/vessel=IMO9321483/date=2026-01-05/data.parquet
  found     1 bytes
  expected  2 bytes
  do        run the day again with --force

unfinished  measurements/IMO9321483/2026-01-05
  attempt 2 gave the day back

1 vessel-day verified (receipts, objects and details; 5,000 rows, 3.40 MB read): 1 finding
`);
});

test('what an interrupted verify has not looked at is not called verified', () => {
  const view = createVerifyView(screen(false), systemClock);
  view.onPlanned(1_500);
  view.onDay({ day, checked: true, rows: 5, findings: [], warnings: [] });
  view.end();
  expect(formatVerified(view, false)).toMatch(/^1 of 1,500 vessel-days verified .*: no findings\n$/);
});

test('nothing to verify is said as such', () => {
  const view = createVerifyView(screen(false), systemClock);
  view.onPlanned(0);
  expect(formatVerified(view, true)).toMatch(/^nothing to verify: /);
});

test('a terminal sees a bar that goes away', () => {
  const terminal = screen(true);
  const view = createVerifyView(terminal, systemClock);
  view.onPlanned(2);
  view.onDay({ day, checked: true, rows: 1, findings: [finding], warnings: [] });
  expect(terminal.text).toContain('█'.repeat(12) + '░'.repeat(12));
  expect(terminal.text).toContain('1/2 vessel-days  1 finding  0 bytes');
  view.end();
  expect(terminal.text.endsWith('\r\u001b[2K')).toBe(true);
});

test('elsewhere there is no bar', () => {
  const pipe = screen(false);
  const view = createVerifyView(pipe, systemClock);
  view.onPlanned(1);
  view.onDay({ day, checked: true, rows: 1, findings: [], warnings: [] });
  view.end();
  expect(pipe.text).toBe('');
});
