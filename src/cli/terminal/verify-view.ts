/** The progress of verify: a bar on a terminal; what it found, as it finds it. */
import { FINDINGS, type Finding, formatPlace, type VerifyWarning } from '../../audit/verify/findings.ts';
import type { VerifiedDay, VerifyObserver } from '../../audit/verify/verify-lake.ts';
import type { Clock } from '../../core/model/index.ts';
import { countOf, formatCount } from '../../core/model/index.ts';
import { formatBytes, formatSeconds } from './format.ts';
import { createBar, describeBar, paint, type Screen } from './screen.ts';

export interface VerifyView extends VerifyObserver {
  readonly totals: VerifyTotals;
  readonly findings: readonly Finding[];
  readonly warnings: readonly VerifyWarning[];
  log(line: string): void;
  end(): void;
}

interface VerifyTotals {
  /** Vessel-days to be verified; more than `vesselDays` and `notVerified` after an interruption. */
  planned: number;
  /** Vessel-days that were checked, and those that could not be. */
  vesselDays: number;
  notVerified: number;
  sound: number;
  rows: number;
  bytes: number;
}

/** A view on `screen` (stderr: stdout is for the result). */
export function createVerifyView(screen: Screen, clock: Clock): VerifyView {
  const bar = createBar(screen, clock);
  const startedMs = clock.monotonicMs();
  const totals: VerifyTotals = { planned: 0, vesselDays: 0, notVerified: 0, sound: 0, rows: 0, bytes: 0 };
  const findings: Finding[] = [];
  const warnings: VerifyWarning[] = [];
  let toDo = 0;

  const draw = (force: boolean) => {
    if (toDo === 0) return;
    bar.draw((columns) => {
      const seconds = (clock.monotonicMs() - startedMs) / 1_000;
      const share = doneOf(totals) / toDo;
      return describeBar(screen, share, describeVerified(totals, toDo, findings.length, seconds), columns);
    }, force);
  };

  return {
    totals,
    findings,
    warnings,
    log: bar.print,
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
      warnings.push(...verified.warnings);
      if (!verified.checked) return;
      if (verified.findings.some(({ name }) => name === 'not-verified')) {
        totals.notVerified++;
        return draw(true);
      }
      totals.vesselDays++;
      totals.rows += verified.rows ?? 0;
      if (verified.findings.length === 0) totals.sound++;
      draw(verified.findings.length > 0);
    },
    end() {
      bar.end();
      toDo = 0;
    },
  };
}

function doneOf({ vesselDays, notVerified }: VerifyTotals): number {
  return vesselDays + notVerified;
}

function describeVerified(totals: VerifyTotals, toDo: number, findings: number, seconds: number): string[] {
  const done = doneOf(totals) / toDo;
  return [
    `${formatCount(doneOf(totals))}/${formatCount(toDo)} vessel-days`,
    findingsOf(findings),
    formatBytes(totals.bytes),
    done > 0 && done < 1 ? `${formatSeconds((seconds / done) * (1 - done))} left` : '',
  ];
}

/** Findings, warnings and totals for people; the findings of one vessel-day together. */
export function formatVerified(view: VerifyView, deep: boolean, screen: Pick<Screen, 'colour'> = {}): string {
  const blocks = [
    ...[...view.findings].sort(byDay).map((finding) => formatFinding(finding, screen)),
    ...[...view.warnings].sort(byDay).map(({ name, day, text }) => `${name}  ${formatPlace(day)}\n  ${text}`),
  ];
  const { planned, vesselDays, notVerified, rows, bytes } = view.totals;
  if (vesselDays === 0 && blocks.length === 0)
    return 'nothing to verify: the lake has nothing of these jobs, dates and vessels\n';
  const how = deep ? 'every row read back and compared with the service' : 'receipts, objects and details';
  const days =
    vesselDays < planned
      ? `${formatCount(vesselDays)} of ${countOf(planned, 'vessel-day')}`
      : countOf(vesselDays, 'vessel-day');
  const found = findingsOf(view.findings.length);
  if (vesselDays === 0 && notVerified > 0)
    return `${[...blocks, `nothing could be verified of ${countOf(planned, 'vessel-day')}: ${found}`].join('\n\n')}\n`;
  const failed = notVerified === 0 ? '' : `, ${formatCount(notVerified)} could not be`;
  const summary = `${days} verified${failed} (${how}; ${formatCount(rows)} rows, ${formatBytes(bytes)} read): ${found}`;
  return `${[...blocks, summary].join('\n\n')}\n`;
}

function formatFinding(
  { name, day, where, found, expected, next }: Finding,
  screen: Pick<Screen, 'colour'>,
): string {
  return [
    `${paint(screen, 'red', name)}  ${formatPlace(day)}`,
    `  ${FINDINGS[name].means}`,
    `  where     ${where}`,
    `  found     ${found}`,
    `  expected  ${expected}`,
    `  do        ${next}`,
  ].join('\n');
}

function byDay(a: Finding | VerifyWarning, b: Finding | VerifyWarning): number {
  return formatPlace(a.day) < formatPlace(b.day) ? -1 : 1;
}

function findingsOf(count: number): string {
  return count === 0 ? 'no findings' : countOf(count, 'finding');
}
