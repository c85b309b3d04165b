/** The page as it is served, with somebody who may act. */
import { type Clock, type Job, systemClock } from '../../src/core/model/index.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { createLog } from '../../src/runtime/log.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { ACT_HEADERS, servePage, signIn } from '../helpers/web.ts';

export const READ_PASSWORD = 'a password to look';
export const ACT_PASSWORD = 'a password to act!';

interface ActsOptions {
  readonly store: ObjectStore;
  readonly jobs: readonly Job[];
  readonly clock?: Clock;
  readonly fleet?: Fleet;
}

export type ActsPage = Awaited<ReturnType<typeof openActs>>;

export async function openActs(options: ActsOptions) {
  const { store, jobs, clock = systemClock, fleet } = options;
  const written: string[] = [];
  const log = createLog({ level: 'debug', readable: false, write: (line) => void written.push(line) });
  const ports = { store, jobs, clock, log, ...(fleet && { fleet }) };
  const page = await servePage(ports, { readPassword: READ_PASSWORD, actPassword: ACT_PASSWORD });
  const cookie = await signIn(page.url, ACT_PASSWORD, 'Nora');
  return {
    ...page,
    /** Of somebody who may act. */
    cookie,
    /** The log as it is written, a line each. */
    written,
    /** Its lines about acts. */
    get lines(): Record<string, unknown>[] {
      return written.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'act');
    },
    /** The status, and the message or what stands in its place. */
    async act(body: unknown) {
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
