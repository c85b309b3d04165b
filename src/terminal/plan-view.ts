/** What an export will take, as lines. */
import type { JobPlan } from '../export/plan-job.ts';
import { ASSUMED_ROW_BYTES } from '../plan/cost.ts';
import { formatCount, formatSeconds } from './format.ts';

export function formatPlan(
  { job, from, to, vessels, states, cost, ...plan }: JobPlan,
  limits: string,
): string {
  const parts = [
    `${formatCount(cost.vesselDays)} to do`,
    ...(states.stale > 0 ? [`${formatCount(states.stale)} of them stale`] : []),
    `${formatCount(states.done)} done`,
    `${formatCount(states['not-due'])} not due`,
  ];
  const head = `${job}: ${from} to ${to}, ${formatCount(vessels)} vessels, vessel-days: ${parts.join(', ')}`;
  if (cost.vesselDays === 0) return `${head}: nothing to do`;
  const lines: [string, string][] = [
    ['readings', `about ${formatCount(round(cost.readings))}`],
    [
      'rows',
      `about ${formatCount(round(cost.rows))}: ${formatCount(cost.leastRows)} to ${formatCount(cost.mostRows)} a vessel-day`,
    ],
    ['requests', `about ${formatCount(round(cost.requests))}`],
    ['bytes', `about ${formatBytes(cost.sizeBytes)} in the lake, ${bytesBasis(cost, plan)}`],
    ['time', `about ${formatSeconds(cost.seconds)} ${limits}, ${timeBasis(cost.boundBy, plan)}`],
    ['sampled', sampleLine(plan)],
  ];
  return [head, ...lines.map(([name, text]) => `  ${name.padEnd(9)} ${text}`)].join('\n');
}

type Basis = Pick<JobPlan, 'experience' | 'timed' | 'sampled'>;

function bytesBasis({ bytesFrom, dataset }: JobPlan['cost'], { experience }: Basis): string {
  if (bytesFrom === 'assumption')
    return `assuming ${ASSUMED_ROW_BYTES[dataset]} bytes a row: nothing is published yet`;
  return `as the ${formatCount(experience?.vesselDays ?? 0)} published vessel-days`;
}

function timeBasis(by: JobPlan['cost']['boundBy'], { experience, timed }: Basis): string {
  if (by === 'pace') return 'which the pace decides';
  if (by === 'experience')
    return `as the ${formatCount(experience?.vesselDays ?? 0)} published vessel-days took`;
  if (by === 'requests') return 'from the time that the sample took';
  const { rows = 0, durationMs = 0 } = timed ?? {};
  return `from one timed request (${formatCount(rows)} readings in ${(durationMs / 1_000).toFixed(1)} s)`;
}

function sampleLine({ sampled }: Basis): string {
  const vessels = new Set(sampled.map(({ vessel }) => vessel)).size;
  const dates = sampled.map(({ date }) => date).sort();
  return `${formatCount(sampled.length)} vessel-days of ${vessels} vessels between ${dates[0]} and ${dates.at(-1)}; the others are taken to be like them`;
}

/** Three figures: more would promise what a sample cannot keep. */
function round(count: number): number {
  if (count < 1_000) return count;
  const unit = 10 ** (Math.floor(Math.log10(count)) - 2);
  return Math.round(count / unit) * unit;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** `12.3 GB` */
export function formatBytes(sizeBytes: number): string {
  let size = sizeBytes;
  let unit = 0;
  for (; size >= 1_000 && unit < UNITS.length - 1; unit++) size /= 1_000;
  return `${unit === 0 ? size : size.toPrecision(3)} ${UNITS[unit]}`;
}
