/** What the page is made of: the lake, and where there is one the fleet. */
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
  /** HTTP_HOST: where it listens. */
  readonly host: string;
  /** WEB_READ_PASSWORD; without it and `named` reading is open, where that can be (`closedBecause`). */
  readonly readPassword: string | undefined;
  /** WEB_ACT_PASSWORD, with which one may read too; undefined: nobody acts by a password. */
  readonly actPassword: string | undefined;
  /** People whom somebody else names; undefined: nobody does. */
  readonly named?: NamedPeople | undefined;
  /** Is it the address of a proxy that is believed? Absent: none is. */
  readonly isProxy?: ((remoteAddress: string | undefined) => boolean) | undefined;
  /** Do browsers reach the page by https, whatever a proxy says? */
  readonly isHttps?: boolean;
  /** Its passwords are masked before it is shown. */
  readonly lakeUrl: string;
  readonly onLoginFailed?: (outcome: 'wrong' | 'locked') => void;
}

/** By whom people are named, and which of them may look and act. */
export interface NamedPeople {
  /** Headers of a proxy that is believed, in small letters. */
  readonly headers?: { readonly user: string; readonly groups: string | undefined } | undefined;
  readonly provider?: ProviderSettings | undefined;
  /** Undefined: all who are named may look. */
  readonly readGroups: readonly string[] | undefined;
  /** Who is in one of them may act. */
  readonly actGroups: readonly string[];
}

/** Someone who may act may read too. */
export type Right = 'read' | 'act';
