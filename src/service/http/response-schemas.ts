/** What the answers look like: for the OpenAPI document, and for tests that check answers against it. */
import { z } from 'zod';
import { AGGREGATIONS } from '../../core/model/index.ts';

const text = z.string().optional();
const number = z.number().optional();
const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/)
  .describe('ISO 8601, UTC, microseconds');

const measurements = z.array(
  z.strictObject({
    id: z.string(),
    timestamp,
    value: z.unknown().describe('A number, or any JSON of a JSON-typed series'),
  }),
);

const domainEntry = z.looseObject({ id: z.string() });

const metadataElement = z.strictObject({
  id: z.string(),
  timeSeriesId: z.string(),
  source: text,
  dataProvider: text,
  unitOfMeasure: text,
  scale: number,
  vessel: z.strictObject({ name: text, imo: text }),
  domains: z.record(z.string(), domainEntry),
});

const keyedMetadata = z.strictObject({
  name: text,
  description: text,
  source: text,
  scale: number,
  uom: text,
  mapsTo: z.record(z.string(), z.string()),
  rangeHigh: number,
  rangeLow: number,
  timeSeriesId: z.string(),
  vesselImo: text,
  vesselName: text,
});

const statistic = z.strictObject({
  timestamp,
  id: z.string(),
  aggregations: z.partialRecord(z.enum(AGGREGATIONS), z.unknown()),
});

const keyedStatistic = z
  .looseObject({ timestamp })
  .describe('Besides the timestamp one property, <id>:<aggregation> or <id>/<Aggregation>');

/** By the name under which the document refers to them; both versions' shapes. */
export const RESPONSE_SCHEMAS = {
  measurements,
  metadata: z.union([z.array(metadataElement), z.record(z.string(), keyedMetadata)]),
  statistics: z.union([z.array(statistic), z.array(keyedStatistic)]),
  Token: z.strictObject({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.number(),
    scope: z.string(),
  }),
  Error: z.strictObject({ error: z.string() }),
  TokenError: z
    .strictObject({ error: z.string(), error_description: text })
    .describe('RFC 6749: with a description where the request is wrong, then `error` is its code'),
} as const;
