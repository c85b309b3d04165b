/** What the page is made of: the lake, and where there is one the fleet. */
import type { Fleet } from '../fleet/fleet.ts';
import type { ApiVersion, Clock, Job, Log, ProcessId } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';

export interface WebPorts {
  readonly store: ObjectStore;
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  readonly log: Log;
  readonly self: ProcessId;
  readonly apiVersion: ApiVersion;
  /** Version of vessel-export. */
  readonly version: string;
  /** Absent: the page is served from a lake alone. */
  readonly fleet?: Pick<Fleet, 'queue' | 'redis' | 'prefix' | 'planning' | 'app' | 'connection'>;
}

/** Who may see the page, and who may act. */
export interface WebAccess {
  /** HTTP_HOST: where it listens. */
  readonly host: string;
  /** WEB_READ_PASSWORD; undefined: reading is open, where that can be (`closedBecause`). */
  readonly readPassword: string | undefined;
  /** WEB_ACT_PASSWORD, with which one may read too; undefined: nobody acts. */
  readonly actPassword: string | undefined;
  /** Its passwords are masked before it is shown. */
  readonly lakeUrl: string;
  /** Told of every sign-in that was not accepted. */
  readonly onLoginFailed?: (outcome: 'wrong' | 'locked') => void;
}
