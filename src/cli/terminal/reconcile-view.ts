/** Findings of a reconciliation, as lines. */
import type { FindingState } from '../../audit/reconcile/compare-day.ts';
import type { JobReconciliation } from '../../audit/reconcile/reconcile-jobs.ts';
import { countOf, formatCount } from '../../core/model/index.ts';
import type { QueuedRepair, RepairStatus } from '../../fleet/fill-queue.ts';

const WORDS: Readonly<Record<FindingState, string>> = {
  missing: 'missing',
  stale: 'stale',
  changed: 'changed',
  'would-shrink': 'would shrink',
  refused: 'still refused',
  disagree: 'disagree',
  unreadable: 'unreadable',
};

/** Of missing and stale days only the first and their number are shown: there may be years of them. */
const COUNTED: ReadonlySet<FindingState> = new Set(['missing', 'stale']);

export function formatReconciliation(found: JobReconciliation, dates: string): string {
  const { job, reason, vessels, findings, unasked } = found;
  if (reason !== null) return `${job}: not reconciled: ${reason}`;
  const totals = Object.entries(WORDS).flatMap(([state, word]) => {
    const days = findings.filter((finding) => finding.state === state).length;
    return days === 0 ? [] : [`${formatCount(days)} ${word}`];
  });
  const total = totals.join(', ') || unchangedWords(found);
  const lines = [`${job}: ${dates}, ${countOf(vessels, 'vessel')}, ${comparedWords(found)}: ${total}`];
  for (const { day, state, message } of findings)
    if (!COUNTED.has(state)) lines.push(`  ${WORDS[state]}  ${day.vessel}/${day.date}: ${message}`);
  for (const state of COUNTED) lines.push(...countedLine(found, state));
  for (const { vessel, message } of unasked) lines.push(`  not asked  ${vessel}: ${message}`);
  return lines.join('\n');
}

function comparedWords({ compared, notCompared }: JobReconciliation): string {
  const words = `${countOf(compared, 'vessel-day')} compared`;
  return notCompared === 0 ? words : `${words}, ${formatCount(notCompared)} could not be`;
}

function unchangedWords({ compared, notCompared }: JobReconciliation): string {
  if (notCompared === 0) return 'nothing changed';
  return compared === 0 ? 'nothing could be compared' : 'nothing changed in those compared';
}

const QUEUED: readonly (readonly [RepairStatus, string])[] = [
  ['enqueued', 'enqueued'],
  ['in-queue', 'in the queue already'],
  ['done', 'exported meanwhile'],
  ['in-failed-set', 'in the failed set'],
  ['no-room', 'without room in the queue'],
];

/** `3 vessel-days: 2 enqueued, 1 in the queue already` */
export function formatQueued(queued: readonly QueuedRepair[]): string {
  if (queued.length === 0) return 'nothing to enqueue';
  const parts = QUEUED.flatMap(([status, words]) => {
    const days = queued.filter((one) => one.status === status).length;
    return days === 0 ? [] : [`${formatCount(days)} ${words}`];
  });
  return `${countOf(queued.length, 'vessel-day')}: ${parts.join(', ')}`;
}

/** Lines about vessel-days that the queue did not take, each with advice. */
export function formatLeft(queued: readonly QueuedRepair[]): string[] {
  const failed = queued.filter(({ status }) => status === 'in-failed-set');
  const lines = failed.map(
    ({ day, code, message }) => `  failed  ${day.vessel}/${day.date}: ${code}: ${message}`,
  );
  for (const job of new Set(failed.map(({ day }) => day.job)))
    lines.push(`  'vessel-export backfill ${job} --failed' tries what has failed again`);
  if (queued.some(({ status }) => status === 'no-room'))
    lines.push('  the queue takes more when its workers have caught up: run this again then');
  return lines;
}

function countedLine({ findings }: JobReconciliation, state: FindingState): string[] {
  const [first, ...others] = findings.filter((finding) => finding.state === state);
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` and ${formatCount(others.length)} more`;
  return [`  ${WORDS[state]}  ${first.day.vessel}/${first.day.date}${more}: ${first.message}`];
}
