/** Writes a first job file, with series that the service really has. */
import { FLAT_DOMAINS, type SeriesMetadata, vesselOf } from '../../core/model/index.ts';
import type { CataloguePorts } from '../../query/catalogue/from-service.ts';
import { createRequestStats } from '../../source/fetch/exchange.ts';
import { askMetadata } from '../../source/metadata.ts';

export interface Sample {
  readonly vessel: string;
  readonly vesselName: string | null;
  /** The domain of the series' names. */
  readonly domain: string;
  /** The series to begin with. */
  readonly series: readonly SampledSeries[];
}

type SampledSeries = ReturnType<typeof sampled>;

const SERIES = 3;
const LIKED = [
  [/^speed over ground$/i, /speed/i],
  [/^shaft power$/i, /power/i],
  [/fuel.*consumption/i, /fuel/i],
];

/** The first vessel that the service returns, and some of its series; undefined if it has no flat names. */
export async function sampleService(
  ports: Pick<CataloguePorts, 'client' | 'signal'>,
): Promise<Sample | undefined> {
  const asker = { ...ports, stats: createRequestStats() };
  for (const domain of FLAT_DOMAINS) {
    const vessel = await firstVessel(asker, `${domain}/*/*`);
    if (vessel === undefined) continue;
    const expression = `${domain}/${vessel}/*`;
    const { kept } = await askMetadata(asker, expression, (element) => sampled(element.series()), 'take');
    const named = kept.filter(
      ({ id, unit }) => id.startsWith(`${vessel}/`) && !id.includes('*') && unit !== null,
    );
    const liked = LIKED.flatMap((shapes) => best(named, shapes));
    const series = [...new Set([...liked, ...named])].slice(0, SERIES);
    if (series.length > 0) return { domain, vessel, vesselName: series[0]!.vesselName, series };
  }
  return undefined;
}

type Asker = Parameters<typeof askMetadata>[0];

async function firstVessel(asker: Asker, expression: string): Promise<string | undefined> {
  // Thrown to stop reading an answer that may be long: the first vessel is enough.
  const enough = new Error('enough');
  let found: string | undefined;
  const keep = (element: { vesselImo(): string | null }): undefined => {
    found = vesselOf(element.vesselImo() ?? '');
    if (found !== undefined) throw enough;
  };
  await askMetadata(asker, expression, keep, 'take').catch((error) => {
    if (error !== enough) throw error;
  });
  return found;
}

function sampled({ id, unitOfMeasure: unit, vesselName }: SeriesMetadata) {
  return { id, unit, vesselName };
}

/** The series with the most preferred name, and of several the one with the shortest. */
function best(series: readonly SampledSeries[], shapes: readonly RegExp[]): SampledSeries[] {
  for (const shape of shapes) {
    const names = series.filter(({ id }) => shape.test(tagOf(id)));
    if (names.length > 0) return names.toSorted((a, b) => a.id.length - b.id.length).slice(0, 1);
  }
  return [];
}

function tagOf(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

/** The text of a job file; without a sample it selects everything of every vessel. */
export function firstJobText(sample: Sample | undefined): string {
  const select =
    sample === undefined
      ? ['  - "flat/{vessel}/*"                       # every series that has a flat name']
      : sample.series.map(({ id, unit }) => {
          const expression = JSON.stringify(`${sample.domain}/{vessel}/${tagOf(id)}`);
          return `  - ${expression.padEnd(39)} # ${comment(unit ?? 'no unit')}`;
        });
  return `# A first job. Its name is that of this file, and of its folder in the lake.
# 'vessel-export series${sample === undefined ? '' : ` ${sample.vessel}`}' lists what else can be selected; all keys: docs/jobs-and-settings.md
dataset: measurements                       # or statistics (with a window), or metadata
${vesselsLine(sample)}
select:                                     # <domain>/<expression>; * is any characters within one level
${select.join('\n')}
# - "${sample?.domain ?? 'flat'}/{vessel}/*"                       # everything that has a flat name
# For a fleet that exports by itself (schedule, worker):
# schedule: { cron: "15 6 * * *", timezone: UTC, settle: 6h }   # a day is due \`settle\` after it ends
# reconcile: { cron: "45 7 * * *", lookback: 14d }              # late data
verify: exact                               # publish a day only when the service's own counts are met
`;
}

/** Names and units of what the first job exports: views of readings need them. */
export function metadataJobText(job: string, sample: Sample | undefined): string {
  return `# What each series is: name, unit, source, range. The views \`series\`, \`readings\` and \`wide\` of 'vessel-export sql' need it.
# A new snapshot is written only when something has changed.
dataset: metadata
${vesselsLine(sample)}
select: ["${sample?.domain ?? 'flat'}/{vessel}/*"]                  # more than ${job}.yaml selects does no harm
# schedule: { cron: "0 6 * * *", timezone: UTC }
`;
}

function vesselsLine(sample: Sample | undefined): string {
  if (sample === undefined)
    return 'vessels: { discover: "flat/*/*" }           # every vessel; or a list: [IMO9321483]';
  const { vessel, vesselName, domain } = sample;
  const name = vesselName === null ? '' : `${comment(vesselName)}; `;
  return `vessels: [${vessel}]                       # ${name}or every one: { discover: "${domain}/*/*" }`;
}

/** Foreign text in a comment stays in its line. */
function comment(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 60);
}
