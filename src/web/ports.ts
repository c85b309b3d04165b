/** What the page needs: the lake and, if there is one, the fleet. */
import type { ApiVersion, Clock, Job, Log, ProcessId } from '../core/model/index.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { ObjectStore } from '../store/store.ts';
import type { ProviderSettings } from './sign-in/openid.ts';

export interface WebPorts {
  readonly store: ObjectStore;
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  readonly log: Log;
  readonly self: ProcessId;
  readonly apiVersion: ApiVersion;
  readonly version: string;
  /** Absent: the page is served from a lake alone. */
  readonly fleet?: Pick<Fleet, 'queue' | 'redis' | 'prefix' | 'planning' | 'app' | 'connection'>;
}

export interface WebAccess {
  /** HTTP_HOST: the address on which it listens. */
  readonly host: string;
  /** WEB_READ_PASSWORD; without it and `named` reading is open, if that is allowed (`closedBecause`). */
  readonly readPassword: string | undefined;
  /** WEB_ACT_PASSWORD, which also gives the right to read; undefined: no password gives the right to act. */
  readonly actPassword: string | undefined;
  /** Users whom a provider or proxy names; undefined: there is neither. */
  readonly named?: NamedPeople | undefined;
  /** Whether an address is that of a trusted proxy. Absent: no proxy is trusted. */
  readonly isProxy?: ((remoteAddress: string | undefined) => boolean) | undefined;
  /** Whether browsers reach the page by https, whatever a proxy says. */
  readonly isHttps?: boolean;
  /** Passwords in it are masked before it is shown. */
  readonly lakeUrl: string;
  readonly onLoginFailed?: (outcome: 'wrong' | 'locked') => void;
}

/** Who names the users, and which of them may read and act. */
export interface NamedPeople {
  /** Headers of a trusted proxy, in lower case. */
  readonly headers?: { readonly user: string; readonly groups: string | undefined } | undefined;
  readonly provider?: ProviderSettings | undefined;
  /** Undefined: all named users may read. */
  readonly readGroups: readonly string[] | undefined;
  /** Members of these groups may act. */
  readonly actGroups: readonly string[];
}

/** Someone who may act may read too. */
export type Right = 'read' | 'act';
