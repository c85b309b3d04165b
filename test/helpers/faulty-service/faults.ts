/**
 * The fault port: tests make the service misbehave in its real HTTP path. A function looks at each request, after
 * it was authorized and its range understood, and says what goes wrong.
 */
import type { Family, TimeRange } from '../../../src/core/model/index.ts';

export type Fault =
  /** Answer a status instead; `retryAfter` is the header's text (seconds or a date). */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfter?: string;
      readonly message?: string;
    }
  /** Send `afterBytes` of the body, then destroy the socket; `clean` ends the body as if it were whole. */
  | { readonly kind: 'cut'; readonly afterBytes: number; readonly clean?: boolean }
  /** Never send headers, or send `afterBytes` of the body and then nothing, until the client gives up. */
  | { readonly kind: 'stall'; readonly at: 'headers' | 'body'; readonly afterBytes?: number }
  /** Refuse ranges longer than this. */
  | { readonly kind: 'refuse-long-ranges'; readonly overSeconds: number; readonly status: 400 | 413 | 504 }
  /** Leave out measurements: of a series, in a range, one in `every`; all that match every condition given. */
  | {
      readonly kind: 'drop-rows';
      readonly timeSeriesId?: string;
      readonly range?: TimeRange;
      readonly every?: number;
    }
  /** Answer measurements that the source does not have. */
  | { readonly kind: 'add-rows'; readonly rows: readonly AddedRow[] }
  /** Lose the measurements of a series in a range, and answer others instead. */
  | {
      readonly kind: 'other-rows';
      readonly timeSeriesId: string;
      readonly range: TimeRange;
      readonly rows: readonly AddedRow[];
    }
  /** Say something else: the whole body, rewritten. */
  | { readonly kind: 'rewrite'; readonly rewrite: (body: string) => string }
  /** Statistics answer nothing. */
  | { readonly kind: 'statistics-empty' }
  /** Statistics do not know the readings from this instant on. */
  | { readonly kind: 'statistics-lag'; readonly toMicros: number }
  /** Statistics lie: each count becomes `count × scale + offset`, rounded. */
  | { readonly kind: 'statistics-counts'; readonly scale?: number; readonly offset?: number }
  /** Make all tokens invalid, this request's too: it answers 401. */
  | { readonly kind: 'revoke-tokens' }
  /** Answer another `api-version`; undefined leaves the header out. */
  | { readonly kind: 'api-version'; readonly value: string | undefined }
  /** Answer another `Date`; an empty one leaves the header out. */
  | { readonly kind: 'date'; readonly value: string }
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: number }
  /** Status 200 and this body. */
  | { readonly kind: 'garbage'; readonly body: string | Uint8Array; readonly contentType?: string };

export interface AddedRow {
  readonly timeSeriesId: string;
  readonly timestampMicros: number;
  /** JSON text of the value. */
  readonly valueText: string;
}

export interface FaultyRequest {
  /** `token` is the token endpoint. */
  readonly family: Family | 'token';
  readonly method: string;
  readonly url: string;
  /** Absent for metadata and tokens. */
  readonly range: TimeRange | undefined;
  /** Number of the request within its family, from 1. */
  readonly n: number;
}

export type FaultPort = (request: FaultyRequest) => Fault | undefined;
