/**
 * A plain lake becomes a table for each job, in place: what is published joins by its path, no data are copied.
 *
 * 1. `_lake.json` says that the conversion has begun. From LOOK_MS on every claim that was put without knowing of it is
 *    there to be seen, and no other comes (layout.ts).
 * 2. Claims: while one is alive, wait. A dead one is taken over: what it has published gets its receipt, its uploads are
 *    aborted, so that nothing of it can come any more, and the claim goes.
 * 3. Now nothing changes but by us: every receipt's object joins the table of its job, a thousand in an entry.
 * 4. `_lake.json` says that the lake is a delta lake.
 *
 * Killed anywhere and run again, it begins at 1, and passes over what is in the tables. Of two at once the later takes
 * over by writing its name into `_lake.json`; the other finds that before its next entry. An entry of it that was on its
 * way then adds files under the names that they have anyhow, or comes to a version that is taken.
 */
import type { VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { ConvertPorts } from '../claims/end-claims.ts';
import { endClaims } from '../claims/end-claims.ts';
import { keyPrefix, parseReceiptKey } from '../keys.ts';
import { LOOK_MS } from '../layout.ts';
import type { LeftOut } from '../publish/published-files.ts';
import { beginConversion, finishConversion } from './conversion-mark.ts';
import type { ConvertedJob } from './convert-job.ts';
import { convertJob } from './convert-job.ts';

/** Clocks of two processes may run apart by so much meanwhile. */
const MARGIN_MS = 1_000;

export interface Conversion {
  readonly jobs: readonly ConvertedJob[];
  readonly leftOut: readonly LeftOut[];
  /** False: it was a delta lake before. */
  readonly converted: boolean;
}

/** Convert the lake. Throws ConfigError where there is none, FencedError when another conversion takes over. */
export async function convertLake(ports: ConvertPorts): Promise<Conversion> {
  const own = await beginConversion(ports.store);
  if (own === undefined) return { jobs: [], leftOut: [], converted: false };
  ports.say(`no export begins from now on; waiting ${LOOK_MS / 1_000} s until every process knows`);
  await ports.clock.sleep(LOOK_MS + MARGIN_MS, ports.signal);
  await endClaims(ports);
  const conversion = { jobs: [] as ConvertedJob[], leftOut: [] as LeftOut[] };
  for await (const { job, days } of publishedDays(ports.store))
    conversion.jobs.push(await convertJob(ports, own, job, days, conversion.leftOut));
  await finishConversion(ports.store, own);
  return { ...conversion, converted: true };
}

/** The published vessel-days, job after job: the ledger lists them so. */
async function* publishedDays(
  store: ObjectStore,
): AsyncGenerator<{ readonly job: string; readonly days: readonly VesselDay[] }> {
  let days: VesselDay[] = [];
  for await (const { key } of store.list(keyPrefix('receipt'))) {
    const day = parseReceiptKey(key);
    if (day === undefined) continue;
    if (days[0] !== undefined && days[0].job !== day.job) {
      yield { job: days[0].job, days };
      days = [];
    }
    days.push(day);
  }
  if (days[0] !== undefined) yield { job: days[0].job, days };
}
