/**
 * Writes the index of an instant lake, as workers and readers leave it: `instant-index.ts` with JSON of the folder and
 * the range, in a process of its own, whose memory is nobody's.
 */
import { silentLog } from '../../src/core/model/index.ts';
import { readLedger } from '../../src/lake/ledger/ledger-index.ts';
import type { InstantRange } from './instant-lake.ts';
import { PublishedDays } from './instant-lake.ts';

const { dir, range } = JSON.parse(process.argv[2]!) as { dir: string; range: InstantRange };
const published = new PublishedDays(dir, range);
const store = published.openStore(dir);
await readLedger({
  ...{
    store,
    job: published.job.name,
    dates: published.dates,
    members: [],
    writeIndex: true,
    log: silentLog,
  },
});
await store.close();
