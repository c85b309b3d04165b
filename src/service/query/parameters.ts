/** Query parameters: one schema that validates them and describes them, and their meaning as typed values. */
import { z } from 'zod';
import type { Aggregation, Family, Micros, TimeRange, WireShape } from '../../core/model/index.ts';
import { AGGREGATIONS } from '../../core/model/index.ts';
import { badParameter, badRequest } from '../http/http-error.ts';
import { DOMAIN_NAMES, type FindDomain } from './domains.ts';
import { lastFullWindow, lastHour, parseTimeRange } from './time-range.ts';
import { parseWindow } from './windows.ts';

const text = (description: string) => z.string().max(4096).optional().describe(description);

const FORMAT = {
  format: text('Output format: json (default), ndjson, parquet (measurements), csv and html (statistics)'),
};
const TIME = {
  from: text('Start of range, ISO 8601'),
  to: text('End of range (exclusive), ISO 8601'),
  from_epoch: text('Start of range, Unix epoch seconds'),
  to_epoch: text('End of range (exclusive), Unix epoch seconds'),
  since: text('Relative duration back from now: 10minutes, 6hours, 1day, 1month'),
  last: text('The last full period: 1day is the previous whole day'),
  year: text('Calendar year'),
  month: text('Calendar month, with year'),
  day: text('Calendar day, with year and month'),
};
const NAMING = {
  verbose: text('true: verbose ids where the domain has them; default false'),
  output_domain: text(`Return ids in this domain: ${DOMAIN_NAMES.join(', ')}, or one that metadata name`),
};
const STATISTICS = {
  aggregations: text(
    `Comma-separated: ${AGGREGATIONS.join(', ')}; default avg before 2026-09-10, mean from then on`,
  ),
  aggregation: text('Alias of aggregations'),
  window: text('Width of a window: 1m, 2h, 2d, 1month (default), none'),
  window_edges: text('whole (default) or partial'),
};

/** Parameters each family understands; others are ignored. */
export const PARAMETERS = {
  measurements: z.object({ ...FORMAT, ...TIME, ...NAMING }),
  metadata: z.object({ ...FORMAT, ...NAMING }),
  statistics: z.object({ ...FORMAT, ...TIME, ...NAMING, ...STATISTICS }),
} as const;

export const FAMILIES = Object.keys(PARAMETERS) as readonly Family[];

/** All that a request's query string can say; what its family lacks is undefined. */
export type RawParameters = Partial<z.infer<typeof PARAMETERS.statistics>>;

/** Text values by name; repeating a parameter is refused. Throws 400. */
export function readParameters(family: Family, query: URLSearchParams): RawParameters {
  const found: Record<string, string> = {};
  for (const name of Object.keys(PARAMETERS[family].shape)) {
    const values = query.getAll(name);
    if (values.length > 1) throw badRequest(`parameter '${name}' is given ${values.length} times`);
    if (values.length === 1) found[name] = values[0]!;
  }
  const parsed = PARAMETERS[family].safeParse(found);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw badRequest(`parameter '${issue.path.join('.')}': ${issue.message}`);
  }
  return parsed.data;
}

export function parseNaming({ verbose, output_domain }: RawParameters, find: FindDomain) {
  if (verbose !== undefined && verbose !== 'true' && verbose !== 'false')
    throw badParameter('verbose', verbose, 'true or false');
  const outputDomain = output_domain === undefined ? undefined : find(output_domain);
  if (output_domain !== undefined && outputDomain === undefined)
    throw badParameter('output_domain', output_domain, `one of ${DOMAIN_NAMES.join(', ')}`);
  return { outputDomain, verbose: verbose === 'true' };
}

export function measurementsRange(raw: RawParameters, nowMicros: Micros): TimeRange {
  return parseTimeRange(raw, nowMicros) ?? lastHour(nowMicros);
}

export function parseStatistics(raw: RawParameters, shape: WireShape, nowMicros: Micros) {
  const window = parseWindow(raw.window ?? '1month');
  const windowEdges = raw.window_edges ?? 'whole';
  if (windowEdges !== 'whole' && windowEdges !== 'partial')
    throw badParameter('window_edges', windowEdges, 'whole or partial');
  const range = parseTimeRange(raw, nowMicros) ?? lastFullWindow(window, nowMicros);
  return { range, window, windowEdges, aggregations: parseAggregations(raw, shape) } as const;
}

function parseAggregations(raw: RawParameters, shape: WireShape): Aggregation[] {
  if (raw.aggregations !== undefined && raw.aggregation !== undefined)
    throw badRequest(`'aggregation' is an alias of 'aggregations'; give one of them`);
  const asked = raw.aggregations ?? raw.aggregation ?? (shape === 'keyed' ? 'avg' : 'mean');
  const chosen = new Set<Aggregation>();
  for (const name of asked.split(',')) {
    const known = AGGREGATIONS.find((aggregation) => aggregation === name.trim().toLowerCase());
    if (known === undefined)
      throw badParameter('aggregations', name, `a comma-separated list of ${AGGREGATIONS.join(', ')}`);
    chosen.add(known);
  }
  return [...chosen];
}
