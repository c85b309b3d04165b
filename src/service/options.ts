import type { ConnectionLimits } from '../core/connections.ts';
import type { Clock, Log } from '../core/model/index.ts';
import type { LakeFile } from './data/lake-files.ts';
import type { ServiceHooks } from './hooks.ts';
import type { ServiceClient } from './http/credentials.ts';
import type { BodyLimits } from './http/request-body.ts';

export interface ServiceOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly tenant: string;
  /** The made-up fleet of this seed, the lake in a folder, or the readings of a file of NDJSON (docs/service.md). */
  readonly data: MadeUpData | LakeData | { readonly replayFile: string };
  /** Absent: one client with random credentials that may read everything. */
  readonly clients?: readonly ServiceClient[];
  /** Requests a minute and client address; absent: no limit. */
  readonly ratePerMinute?: number;
  /** Requests at once per credential; absent: no limit. */
  readonly maxConcurrency?: number;
  /** How long every query waits before it is answered, its place among those at once taken; absent: not at all. */
  readonly latencyMs?: number;
  readonly tokenTtlSeconds: number;
  readonly clock: Clock;
  /** Gives up the start; it does not end a service that runs. */
  readonly signal?: AbortSignal;
  readonly log?: Log;
  /** A line for every answer; absent: none. */
  readonly accessLog?: Log;
  /** What is absent is as in CONNECTION_LIMITS. */
  readonly connectionLimits?: Partial<ConnectionLimits & BodyLimits>;
  /** Absent: nothing watches the requests or stands around their answers. */
  readonly hooks?: ServiceHooks;
  /** A range includes its end, by a microsecond: the contract allows either; absent: no. */
  readonly toInclusive?: boolean;
}

export interface MadeUpData {
  readonly seed: number;
  /** Number of vessels; the first is IMO9321483. */
  readonly vessels: number;
  /** Readings a vessel sends in a whole day, about; a few thousand to several millions. */
  readonly readingsPerDay: number;
  /** With numbers that no ship has: they begin with 0. */
  readonly isImaginary?: boolean;
}

export interface LakeData {
  /** Folder of a lake that `vessel-export` wrote. */
  readonly dataDir: string;
  /** Its files, where not every file of its folders is one; absent: all. */
  readonly files?: readonly LakeFile[];
}

export interface RunningService {
  readonly baseUrl: string;
  /** Tokens come from `{authUrl}/oauth2/token`. */
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  revokeTokens(): void;
  /** Stops at once: open connections and bodies are destroyed. Resolves when the work for them has ended. */
  close(): Promise<void>;
}
