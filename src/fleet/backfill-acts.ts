/** What is done to backfills because somebody says so, by a command or the page: start, pause, resume, cancel. */
import { ConfigError } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import { shortName } from '../core/model/index.ts';
import type { Backfill, BackfillRequest } from '../lake/backfills.ts';
import {
  backfillId,
  listBackfills,
  readBackfill,
  removeBackfill,
  updateBackfill,
} from '../lake/backfills.ts';
import { backfillKey, parseBackfillKey } from '../lake/keys.ts';
import type { ObjectStore } from '../store/store.ts';
import { withdrawBackfill } from './backfill-driver.ts';
import type { Fleet } from './fleet.ts';

type BackfillPorts = Pick<Fleet, 'queue' | 'app'>;

/** Throws ConfigError `no-history` for a job whose past cannot be exported. */
export function checkHasHistory({ name, dataset }: Job): void {
  if (dataset !== 'metadata') return;
  throw new ConfigError(
    'no-history',
    `job '${name}': the service keeps no history of metadata, so there is nothing to fill in; 'schedule' and 'run' take today's snapshot`,
  );
}

/** `started`; `goes-on`: it was paused; `under-way`: it is already. */
interface StartedBackfill {
  readonly backfill: Backfill;
  readonly state: 'started' | 'goes-on' | 'under-way';
}

/**
 * Define a backfill, unless the same one is under way; a paused one goes on. `from` and `to` are UTC dates. Throws
 * ConfigError (`usage`, `no-history`, and what is wrong with the lake's layout), and what the store throws.
 */
export async function startBackfill(
  { app }: Pick<Fleet, 'app'>,
  job: Job,
  request: BackfillRequest,
): Promise<StartedBackfill> {
  checkHasHistory(job);
  const { from, to } = request;
  if (from >= to)
    throw new ConfigError('usage', `${from} to ${to}: the range is empty; the end is exclusive`);
  const { store, ports } = app;
  await ports.layout.check([job.name]);
  const id = backfillId(request);
  const createdNow = new Date(ports.clock.nowMs()).toISOString();
  const fresh: Backfill = { backfillVersion: 1, id, ...request, paused: false, createdAt: createdNow };
  const { before, now = fresh } = await updateBackfill(store, id, (defined) => {
    if (defined === undefined) return fresh;
    return defined.paused ? { ...fresh, createdAt: defined.createdAt } : undefined;
  });
  if (before === undefined) return { backfill: now, state: 'started' };
  return { backfill: now, state: before.paused ? 'goes-on' : 'under-way' };
}

export type BackfillChange = 'pause' | 'resume' | 'cancel';

/** What became of it. `withdrawn`: vessel-days that were taken out of the queue. */
interface ChangedBackfill {
  readonly backfill: Backfill;
  readonly withdrawn: number;
}

/**
 * Pause, resume or cancel a backfill; done twice it is done. Throws ConfigError (`unknown-backfill`, and what is wrong
 * with the lake's layout), and what Redis and the store throw.
 */
export async function changeBackfill(
  { app, queue }: BackfillPorts,
  change: BackfillChange,
  id: string,
): Promise<ChangedBackfill> {
  const { store, ports } = app;
  if (change === 'resume') await ports.layout.check([]);
  const backfill = parseBackfillKey(backfillKey(id)) === id ? await changed(store, change, id) : undefined;
  if (backfill === undefined) throw await unknownBackfill(app, id);
  const withdrawn = change === 'resume' ? 0 : await withdrawBackfill(queue, backfill);
  return { backfill, withdrawn };
}

/** The backfill as it was before; undefined where it is none, or is none any more. */
async function changed(
  store: ObjectStore,
  change: BackfillChange,
  id: string,
): Promise<Backfill | undefined> {
  if (change === 'cancel') {
    const backfill = await readBackfill(store, id);
    if (backfill !== undefined) await removeBackfill(store, id);
    return backfill;
  }
  const paused = change === 'pause';
  const { before } = await updateBackfill(store, id, (defined) =>
    defined === undefined || defined.paused === paused ? undefined : { ...defined, paused },
  );
  return before;
}

async function unknownBackfill({ store }: Fleet['app'], id: string): Promise<ConfigError> {
  const defined = await listBackfills(store, () => {});
  const ids = defined.map((underWay) => underWay.id).join(', ') || 'none';
  return new ConfigError(
    'unknown-backfill',
    `no backfill '${shortName(id)}' is under way; there are: ${ids}`,
  );
}
