/**
 * Somebody says, once for a job, that series may go which its `select` does not mean any more. It is said of the `select`
 * that the job has, and of what is published by then; what `select` still means, and the source has lost, it does not cover.
 */
import type { ApiVersion, Clock, Job, Log, Receipt } from '../core/model/index.ts';
import { selectHash, settingsHash } from '../core/plan/settings-hash.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, unlessDamaged } from './json.ts';
import { acceptedSelectKey } from './keys.ts';
import { listReceipts } from './ledger/ledger.ts';
import { scanLedger } from './ledger/ledger-index.ts';
import { parseFile, SELECT_ACCEPTANCE_FILE } from './shapes.ts';

interface SelectAcceptance {
  readonly acceptedVersion: 1;
  readonly job: string;
  readonly selectHash: string;
  readonly at: string;
}

/** May series go which the job's `select` does not mean any more: from this published day, or from any? */
export async function isSelectAccepted(
  store: Pick<ObjectStore, 'get'>,
  job: Job,
  { finishedAt }: Pick<Receipt, 'finishedAt'> = { finishedAt: '' },
): Promise<boolean> {
  const accepted = await readSelectAcceptance(store, job);
  return accepted !== undefined && accepted.at >= finishedAt;
}

/** What was accepted of the `select` that the job has; a damaged file says nothing. */
async function readSelectAcceptance(
  store: Pick<ObjectStore, 'get'>,
  job: Job,
): Promise<SelectAcceptance | undefined> {
  const key = acceptedSelectKey(job.name);
  const object = await store.get(key);
  const parse = async () => object && parseFile<SelectAcceptance>(object.bytes, key, SELECT_ACCEPTANCE_FILE);
  const accepted = await unlessDamaged(parse());
  return accepted?.selectHash === selectHash(job) ? accepted : undefined;
}

interface AcceptSelectPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly apiVersion: ApiVersion;
}

/** What became of it: of how many published vessel-days other series may have been asked for. */
interface AcceptedSelect {
  readonly state: 'accepted' | 'accepted-before' | 'nothing-to-accept';
  readonly vesselDays: number;
  readonly message: string;
}

/** Accept it; done twice it is accepted once. Throws what the store throws. */
export async function acceptSelect(ports: AcceptSelectPorts, job: Job): Promise<AcceptedSelect> {
  const { store, log, clock, apiVersion } = ports;
  const dates = new Set<string>();
  for await (const { day } of listReceipts(store, job.name)) dates.add(day.date);
  const present = settingsHash(job, apiVersion);
  let [vesselDays, newest] = [0, ''];
  await scanLedger({
    ...{ store, log, job: job.name, dates: [...dates].sort(), writeIndex: true },
    members: ['settingsHash', 'finishedAt'],
    take({ settingsHash, finishedAt }) {
      if (settingsHash === present) return;
      vesselDays++;
      if (finishedAt > newest) newest = finishedAt;
    },
  });
  const of = `${vesselDays} published vessel-day${vesselDays === 1 ? '' : 's'} with other settings`;
  if (vesselDays === 0)
    return {
      ...{ state: 'nothing-to-accept', vesselDays },
      message: 'nothing to accept: every published vessel-day has the settings that the job has now',
    };
  const before = await readSelectAcceptance(store, job);
  const what = `series that 'select' does not mean any more may go from ${of}`;
  if (before !== undefined && before.at >= newest)
    return { state: 'accepted-before', vesselDays, message: `accepted before: ${what}` };
  // Whatever this clock says: who accepts has seen all of these days.
  const at = [new Date(clock.nowMs()).toISOString(), newest].sort().at(-1)!;
  const accepted: SelectAcceptance = { acceptedVersion: 1, job: job.name, selectHash: selectHash(job), at };
  await store.put(acceptedSelectKey(job.name), jsonBytes(accepted));
  return {
    ...{ state: 'accepted', vesselDays },
    message: `accepted: ${what}. The next run or firing tries those that were refused again; 'backfill ${job.name} --failed' those of a backfill`,
  };
}
