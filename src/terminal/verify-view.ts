/** The progress of verify: a bar on a terminal; what it found, as it finds it. */
import type { VerifiedDay, VerifyObserver } from '../audit/verify-lake.ts';
import type { Clock } from '../model/index.ts';
import type { Finding, Remark } from '../verify/findings.ts';
import { FINDINGS, formatPlace } from '../verify/findings.ts';
import { formatCount, formatSeconds } from './format.ts';
import type { Screen } from './progress-view.ts';

export interface VerifyView extends VerifyObserver {
  readonly totals: VerifyTotals;
  readonly findings: readonly Finding[];
  readonly remarks: readonly Remark[];
  /** Write a line of log without breaking the bar. */
  log(line: string): void;
  /** Remove the bar. */
  end(): void;
}

export interface VerifyTotals {
  /** Vessel-days to be verified; more than `vesselDays` after an interruption. */
  planned: number;
  vesselDays: number;
  /** Vessel-days that nothing was found in. */
  sound: number;
  rows: number;
  bytes: number;
}

const REDRAW_MS = 100;
const BAR_CELLS = 24;
const MEGABYTE = 1_000_000;

/** A view on `screen` (stderr: stdout is for the result). */
export function createVerifyView(screen: Screen, clock: Clock): VerifyView {
  const drawn = screen.isTTY === true;
  const startedMs = clock.monotonicMs();
  const totals: VerifyTotals = { planned: 0, vesselDays: 0, sound: 0, rows: 0, bytes: 0 };
  const findings: Finding[] = [];
  const remarks: Remark[] = [];
  let toDo = 0;
  let lastDrawMs = Number.NEGATIVE_INFINITY;

  const draw = (force: boolean) => {
    const nowMs = clock.monotonicMs();
    if (!drawn || toDo === 0 || (!force && nowMs - lastDrawMs < REDRAW_MS)) return;
    lastDrawMs = nowMs;
    const line = describeVerified(totals, toDo, findings.length, (nowMs - startedMs) / 1_000);
    screen.write(`\r\u001b[2K${line.slice(0, (screen.columns ?? 80) - 1)}`);
  };
  const clear = () => drawn && screen.write('\r\u001b[2K');

  return {
    totals,
    findings,
    remarks,
    log(line) {
      clear();
      screen.write(line.endsWith('\n') ? line : `${line}\n`);
      draw(true);
    },
    onPlanned(vesselDays) {
      toDo = vesselDays;
      totals.planned = vesselDays;
      draw(true);
    },
    onBytes(bytes) {
      totals.bytes += bytes;
      draw(false);
    },
    onDay(verified: VerifiedDay) {
      findings.push(...verified.findings);
      remarks.push(...verified.remarks);
      if (!verified.checked) return;
      totals.vesselDays++;
      totals.rows += verified.rows ?? 0;
      if (verified.findings.length === 0) totals.sound++;
      draw(verified.findings.length > 0);
    },
    end() {
      clear();
      toDo = 0;
    },
  };
}

function describeVerified(totals: VerifyTotals, toDo: number, findings: number, seconds: number): string {
  const done = totals.vesselDays / toDo;
  const cells = Math.round(done * BAR_CELLS);
  const left = done > 0 && done < 1 ? formatSeconds((seconds / done) * (1 - done)) : '';
  return [
    '█'.repeat(cells) + '░'.repeat(BAR_CELLS - cells),
    `${totals.vesselDays}/${toDo} vessel-days`,
    formatMegabytes(totals.bytes),
    countOf(findings, 'finding'),
    left === '' ? '' : `${left} left`,
  ]
    .filter((part) => part !== '')
    .join('  ');
}

/** Findings, remarks and totals for people; the findings of one vessel-day together. */
export function formatVerified(view: VerifyView, deep: boolean): string {
  const blocks = [
    ...[...view.findings].sort(byDay).map(formatFinding),
    ...[...view.remarks].sort(byDay).map(({ name, day, text }) => `${name}  ${formatPlace(day)}\n  ${text}`),
  ];
  const { planned, vesselDays, rows, bytes } = view.totals;
  if (vesselDays === 0 && blocks.length === 0)
    return 'nothing to verify: the lake has nothing of these jobs, dates and vessels\n';
  const how = deep ? 'every row read back and compared with the service' : 'receipts, objects and details';
  const days =
    vesselDays < planned
      ? `${formatCount(vesselDays)} of ${countOf(planned, 'vessel-day')}`
      : countOf(vesselDays, 'vessel-day');
  const summary = `${days} verified (${how}; ${formatCount(rows)} rows, ${formatMegabytes(bytes)} read): ${countOf(view.findings.length, 'finding')}`;
  return `${[...blocks, summary].join('\n\n')}\n`;
}

function formatFinding({ name, day, where, found, expected }: Finding): string {
  const { means, next } = FINDINGS[name];
  return [
    `${name}  ${formatPlace(day)}`,
    `  ${means}`,
    `  where     ${where}`,
    `  found     ${found}`,
    `  expected  ${expected}`,
    `  do        ${next}`,
  ].join('\n');
}

function byDay(a: Finding | Remark, b: Finding | Remark): number {
  return formatPlace(a.day) < formatPlace(b.day) ? -1 : 1;
}

function countOf(count: number, what: string): string {
  const many = count === 1 ? '' : 's';
  return `${count === 0 ? 'no' : formatCount(count)} ${what}${many}`;
}

function formatMegabytes(bytes: number): string {
  return `${formatCount(Math.round(bytes / MEGABYTE))} MB`;
}
