/** What an export will take, as lines; and vessels that discovery did not settle. */
import { countOf, formatCount } from '../../core/model/index.ts';
import { ASSUMED_ROW_BYTES } from '../../export/estimate/cost.ts';
import type { JobPlan } from '../../export/estimate/estimate-job.ts';
import type { VesselTrouble } from '../../export/events.ts';
import { formatBytes, formatSeconds } from './format.ts';

export function formatPlan({ job, vessels, states, cost, ...plan }: JobPlan, dates: string, limits: string) {
  const parts = [
    `${formatCount(cost.vesselDays)} to do`,
    ...(states.stale > 0 ? [`${formatCount(states.stale)} of them stale`] : []),
    `${formatCount(states.done)} done`,
    `${formatCount(states['not-due'])} not due`,
  ];
  const head = `${job}: ${dates}, ${countOf(vessels, 'vessel')}, vessel-days: ${parts.join(', ')}`;
  const troubles = plan.troubles.length === 0 ? [] : [formatVesselTroubles(plan.troubles)];
  if (cost.vesselDays === 0) return [`${head}: nothing to do`, ...troubles].join('\n');
  const range = `${formatCount(cost.leastRows)} to ${formatCount(cost.mostRows)}`;
  const stale = `days that would lose readings are refused; if 'select' covers less on purpose: 'vessel-export accept ${job}'`;
  const lines: [string, string][] = [
    ['readings', `about ${formatCount(round(cost.readings))}`],
    ['rows', `about ${formatCount(round(cost.rows))}: ${range} a vessel-day`],
    ['requests', `about ${formatCount(round(cost.requests))}`],
    ['bytes', `about ${formatBytes(cost.sizeBytes)} in the lake, ${bytesBasis(cost, plan)}`],
    ['time', `about ${formatSeconds(cost.durationMs / 1_000)} ${limits}, ${timeBasis(cost.boundBy, plan)}`],
    ['sampled', sampleLine(plan)],
    ...(states.stale > 0 ? [['stale', stale] as [string, string]] : []),
  ];
  return [head, ...lines.map(([name, text]) => `  ${name.padEnd(9)} ${text}`), ...troubles].join('\n');
}

type Basis = Pick<JobPlan, 'experience' | 'timed' | 'sampled'>;

function bytesBasis({ bytesFrom, dataset }: JobPlan['cost'], { experience }: Basis): string {
  if (bytesFrom === 'assumption')
    return `assuming ${ASSUMED_ROW_BYTES[dataset]} bytes a row: nothing is published yet`;
  return `as the ${formatCount(experience?.vesselDays ?? 0)} published vessel-days`;
}

function timeBasis(by: JobPlan['cost']['boundBy'], { experience, timed }: Basis): string {
  if (by === 'rate-limit') return 'which the rate limit decides';
  if (by === 'experience')
    return `as the ${formatCount(experience?.vesselDays ?? 0)} published vessel-days took`;
  if (by === 'requests') return 'from the time that the sample took';
  const { rows = 0, durationMs = 0 } = timed ?? {};
  return `from one timed request (${formatCount(rows)} readings in ${(durationMs / 1_000).toFixed(1)} s)`;
}

function sampleLine({ sampled }: Basis): string {
  if (sampled.length === 0) return 'nothing: no vessel-day of a vessel that is listed';
  const vessels = new Set(sampled.map(({ vessel }) => vessel)).size;
  const dates = sampled.map(({ date }) => date).sort();
  return `${formatCount(sampled.length)} vessel-days of ${countOf(vessels, 'vessel')} between ${dates[0]} and ${dates.at(-1)}; the others are taken to be like them`;
}

/** Three significant digits: a sample does not give more. */
function round(count: number): number {
  if (count < 1_000) return count;
  const unit = 10 ** (Math.floor(Math.log10(count)) - 2);
  return Math.round(count / unit) * unit;
}

const WORDS: Readonly<Record<VesselTrouble['code'], string>> = {
  unlisted: 'not listed',
  'malformed-imo': 'no vessel',
};

export function formatVesselTroubles(troubles: readonly VesselTrouble[]): string {
  return troubles.map(({ vessel, code, message }) => `  ${WORDS[code]}  ${vessel}: ${message}`).join('\n');
}
