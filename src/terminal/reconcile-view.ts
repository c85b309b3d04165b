/** What a reconciliation found, as lines. */
import type { FindingState } from '../export/compare-day.ts';
import type { JobReconciliation } from '../export/reconcile-jobs.ts';
import { formatCount } from './format.ts';

const WORDS: Readonly<Record<FindingState, string>> = {
  missing: 'missing',
  stale: 'stale',
  changed: 'changed',
  'would-shrink': 'would shrink',
  refused: 'still refused',
  disagree: 'disagree',
  unreadable: 'unreadable',
};

/** Missing and stale days are told by their first and their number: there may be years of them. */
const COUNTED: ReadonlySet<FindingState> = new Set(['missing', 'stale']);

export function formatReconciliation(found: JobReconciliation): string {
  const { job, from, to, reason, vessels, compared, findings, unasked } = found;
  if (reason !== null) return `${job}: not reconciled: ${reason}`;
  const totals = Object.entries(WORDS).flatMap(([state, word]) => {
    const days = findings.filter((finding) => finding.state === state).length;
    return days === 0 ? [] : [`${formatCount(days)} ${word}`];
  });
  const lines = [
    `${job}: ${from} to ${to}, ${plural(vessels, 'vessel')}, ${plural(compared, 'vessel-day')} compared: ${totals.length === 0 ? 'nothing changed' : totals.join(', ')}`,
  ];
  for (const { day, state, message } of findings)
    if (!COUNTED.has(state)) lines.push(`  ${WORDS[state]}  ${day.vessel}/${day.date}: ${message}`);
  for (const state of COUNTED) lines.push(...countedLine(found, state));
  for (const { vessel, message } of unasked) lines.push(`  not asked  ${vessel}: ${message}`);
  return lines.join('\n');
}

function countedLine({ findings }: JobReconciliation, state: FindingState): string[] {
  const [first, ...others] = findings.filter((finding) => finding.state === state);
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` and ${formatCount(others.length)} more`;
  return [`  ${WORDS[state]}  ${first.day.vessel}/${first.day.date}${more}: ${first.message}`];
}

function plural(count: number, word: string): string {
  return `${formatCount(count)} ${word}${count === 1 ? '' : 's'}`;
}
