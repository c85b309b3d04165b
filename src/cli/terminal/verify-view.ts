/** The progress of verify: a bar on a terminal, and findings as they are found. */
import { FINDINGS, type Finding, formatPlace, type VerifyWarning } from '../../audit/verify/findings.ts';
import type { VerifyObserver } from '../../audit/verify/verify-lake.ts';
import { type Clock, countOf, formatCount } from '../../core/model/index.ts';
import { formatBytes, formatSeconds } from './format.ts';
import { type Colours, createBar, describeBar, paint, type Screen } from './screen.ts';

export type VerifyView = ReturnType<typeof createVerifyView>;

const NOTHING = {
  /** Vessel-days to be verified; more than `vesselDays` and `notVerified` after an interruption. */
  planned: 0,
  /** Vessel-days that were checked, that could not be checked, and that have no findings. */
  ...{ vesselDays: 0, notVerified: 0, sound: 0 },
  ...{ rows: 0, bytes: 0 },
};

/** A view on `screen` (stderr: stdout is for the result). */
export function createVerifyView(screen: Screen, clock: Clock) {
  const bar = createBar(screen, clock);
  const startedMs = clock.monotonicMs();
  const totals = { ...NOTHING };
  const findings: Finding[] = [];
  const warnings: VerifyWarning[] = [];
  let toDo = 0;
  const draw = (force: boolean) => {
    if (toDo === 0) return;
    bar.draw((columns) => {
      const ended = totals.vesselDays + totals.notVerified;
      const share = ended / toDo;
      const seconds = (clock.monotonicMs() - startedMs) / 1_000;
      const words = [
        `${formatCount(ended)}/${formatCount(toDo)} vessel-days`,
        findingsOf(findings.length),
        formatBytes(totals.bytes),
        share > 0 && share < 1 ? `${formatSeconds((seconds / share) * (1 - share))} left` : '',
      ];
      return describeBar(screen, share, words, columns);
    }, force);
  };
  const observer: VerifyObserver = {
    onPlanned(vesselDays) {
      toDo = vesselDays;
      totals.planned = vesselDays;
      draw(true);
    },
    onBytes(bytes) {
      totals.bytes += bytes;
      draw(false);
    },
    onDay(verified) {
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
  };
  return {
    ...{ ...observer, totals, findings, warnings, log: bar.print },
    end(): void {
      bar.end();
      toDo = 0;
    },
  };
}

/** Findings, warnings and totals for people; the findings of one vessel-day together. */
export function formatVerified(view: VerifyView, deep: boolean, screen: Colours = {}): string {
  const found = findingsOf(view.findings.length);
  const blocks = [
    ...view.findings.toSorted(byDay).map((finding) => formatFinding(finding, screen)),
    ...view.warnings.toSorted(byDay).map(({ name, day, text }) => `${name}  ${formatPlace(day)}\n  ${text}`),
  ];
  const { planned, vesselDays, notVerified, rows, bytes } = view.totals;
  if (vesselDays === 0 && blocks.length === 0)
    return 'nothing to verify: the lake has nothing of these jobs, dates and vessels\n';
  const how = deep ? 'every row read back and compared with the service' : 'receipts, objects and details';
  const days = `${vesselDays < planned ? `${formatCount(vesselDays)} of ` : ''}${countOf(Math.max(planned, vesselDays), 'vessel-day')}`;
  if (vesselDays === 0 && notVerified > 0)
    return `${[...blocks, `nothing could be verified of ${countOf(planned, 'vessel-day')}: ${found}`].join('\n\n')}\n`;
  const failed = notVerified === 0 ? '' : `, ${formatCount(notVerified)} could not be`;
  const summary = `${days} verified${failed} (${how}; ${formatCount(rows)} rows, ${formatBytes(bytes)} read): ${found}`;
  return `${[...blocks, summary].join('\n\n')}\n`;
}

function formatFinding({ name, day, where, found, expected, next }: Finding, screen: Colours) {
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
