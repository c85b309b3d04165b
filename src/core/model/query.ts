import type { TimeRange } from './time.ts';

/** API versions of the contract; the beta alias answers like the stable one. */
export const API_VERSIONS = ['2025-10-31', '2026-09-10', '2026-01-01-beta'] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

/** UTC dates after which a version is deactivated; the others have no end that is known. */
export const API_VERSION_ENDS: Readonly<Partial<Record<ApiVersion, string>>> = { '2025-10-31': '2027-03-10' };

/** Domains of flat names: the contract's, and the name that some services give it. The first that a service has is used. */
export const FLAT_DOMAINS = ['flat', 'raalabs'] as const;

/** The two shapes that the versions give to metadata and statistics. */
export type WireShape = 'keyed' | 'array';

/** Shape in which a version answers: `keyed` before 2026-09-10, `array` from then on. */
export function wireShape(version: ApiVersion): WireShape {
  return version === '2025-10-31' ? 'keyed' : 'array';
}

export type Family = 'measurements' | 'metadata' | 'statistics';
export type Transport = 'ndjson' | 'json' | 'parquet';

/** One request to the query service; `expressions` are unencoded. The client chooses GET or POST. */
export interface QueryRequest {
  readonly family: Family;
  readonly expressions: readonly string[];
  readonly format: Transport;
  /** Absent for metadata. */
  readonly range?: TimeRange;
  readonly outputDomain?: string;
  readonly verbose?: boolean;
  readonly aggregations?: readonly string[];
  /** Window literal of the contract (`10m`, `1h`, `1month`, `none`). */
  readonly window?: string;
  readonly windowEdges?: 'whole' | 'partial';
}

/** Bytes of an answer, each chunk valid until the next is asked for. Throws RetriableError when it breaks off or stays idle. */
export type Body = AsyncIterable<Uint8Array>;

/** An answer whose headers have arrived with status 200. */
export interface QueryResponse {
  readonly apiVersion: ApiVersion;
  readonly contentType: string;
  /** The id that the service has of the request. */
  readonly requestId: string;
  /** Decompressed. Reading it holds a slot of the concurrency limit. Throws RetriableError when it breaks off or stays idle. */
  readonly body: Body;
}
