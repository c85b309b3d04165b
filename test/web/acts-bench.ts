/** The page as it is served, with somebody who may act. */
import { type Clock, type Job, systemClock } from '../../src/core/model/index.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { createLog } from '../../src/runtime/log.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { ACT_HEADERS, type ServedPage, servePage, signIn } from '../helpers/web.ts';

export const READ_PASSWORD = 'a password to look';
export const ACT_PASSWORD = 'a password to act!';

export interface ActsPage extends ServedPage {
  /** The status, and the message or what stands in its place. */
  act(body: unknown): Promise<{ status: number; code: string; message: string }>;
  /** The log as it is written, a line each. */
  readonly written: readonly string[];
  /** Its lines about acts. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Of somebody who may act. */
  readonly cookie: string;
}

interface ActsOptions {
  readonly store: ObjectStore;
  readonly jobs: readonly Job[];
  readonly clock?: Clock;
  readonly fleet?: Fleet;
}

export async function openActs(options: ActsOptions): Promise<ActsPage> {
  const { store, jobs, clock = systemClock, fleet } = options;
  const written: string[] = [];
  const log = createLog({ level: 'debug', readable: false, write: (line) => void written.push(line) });
  const ports = { store, jobs, clock, log, ...(fleet && { fleet }) };
  const page = await servePage(ports, { readPassword: READ_PASSWORD, actPassword: ACT_PASSWORD });
  const cookie = await signIn(page.url, ACT_PASSWORD, 'Nora');
  return {
    ...page,
    cookie,
    written,
    get lines() {
      return written.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'act');
    },
    async act(body) {
      const headers = { ...ACT_HEADERS, cookie };
      const answer = await fetch(`${page.url}/api/acts`, {
        ...{ method: 'POST', headers, body: JSON.stringify(body) },
      });
      const json = (await answer.json()) as { message?: string; error?: { code: string; message: string } };
      const { code = '', message = '' } = json.error ?? (json as { code?: string; message?: string });
      return { status: answer.status, code, message };
    },
  };
}
