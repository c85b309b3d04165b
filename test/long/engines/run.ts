/**
 * `npm run engines`: every engine that can be had as a package reads lakes of ours, in both layouts and at every age of a table,
 * in a folder and in a bucket, and what it says is held against the receipts and objects. `bash .ci/install-engines` brings the
 * engines; `-- spark,polars` runs these alone. It writes their rows of the table in docs/engines.md, and ends with 1 where something
 * is read wrongly that is not known, or no longer wrongly.
 */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LAYOUTS } from '../../../src/core/model/index.ts';
import { bucketOn } from '../../helpers/new-bucket.ts';
import { startRadosgw } from '../../helpers/radosgw.ts';
import { newLake } from '../../helpers/run.ts';
import { awsEnv } from '../../helpers/s3-client.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { ALL_ENGINES, type Engine, FLAWS, type Flaw, flawOf } from './engines.ts';
import { judge } from './judge.ts';
import { type EngineLake, LAKES, lakeStages } from './lakes.ts';
import type { Question, Reader } from './reader.ts';
import { type Cell, writeTable } from './table.ts';

const wanted = process.argv[2]?.split(',');
const engines = ALL_ENGINES.filter(({ name }) => wanted?.includes(name) ?? true);
if (engines.length === 0 || (wanted !== undefined && engines.length !== wanted.length))
  throw new Error(`engines: found ${wanted}, expected some of ${ALL_ENGINES.map(({ name }) => name)}`);

const cells: Cell[] = [];
const seen = new Set<Flaw>();
let unknown = 0;

async function ask(engine: Engine, reader: Reader, lake: EngineLake, store: Cell['store'], at: At) {
  const started = Date.now();
  const { asked, findings } = await judge(reader, lake, at, {
    ...engine,
    isBrief: engine.isSlow || store === 's3',
  });
  const flaws = new Set<Flaw>();
  for (const finding of findings) {
    const flaw = flawOf(engine.name, lake.history, finding);
    if (flaw !== undefined) flaws.add(flaw);
    else {
      unknown++;
      console.log(
        `WRONG ${engine.name} ${lake.name} ${lake.history} ${store} ${finding.job}: ${finding.asked}: ${finding.said}`,
      );
    }
  }
  for (const flaw of flaws) seen.add(flaw);
  cells.push({ engine: engine.name, history: lake.history, store, asked, flaws: [...flaws] });
  const took = `${((Date.now() - started) / 1_000).toFixed(1)} s`;
  console.log(
    `${engine.name} ${lake.name} ${lake.history} ${store}: ${asked} questions, ${findings.length} wrong, ${took}`,
  );
}

/** Every lake by these engines. */
async function readAll(together: readonly Engine[]): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const temp = opened.use(await newTempFolder());
  const readers = new Map<Engine, Reader>();
  for (const engine of together) {
    const reader = opened.use(await engine.open(temp.path));
    readers.set(engine, reader);
    versions.set(engine.name, await reader.version());
  }
  for (const layout of LAYOUTS)
    for (const name of LAKES) {
      await using folder = await newLake();
      const { bucket, drop } = await bucketOn(s3.address);
      const [env, url] = [awsEnv(s3.address), `s3://${bucket}/lake`];
      const inFolder = {
        store: 'folder',
        url: folder.url,
        env: {},
        at: (job: string) => ({ url: join(folder.dir, job) }),
      } as const;
      const inBucket = {
        store: 's3',
        url,
        env,
        at: (job: string) => ({ url: `${url}/${job}`, s3: s3.address }),
      } as const;
      for (const place of [inFolder, inBucket])
        for await (const lake of lakeStages(name, layout, place, temp.path))
          await askEach(readers, lake, place);
      await drop();
    }
}

type At = (job: string) => Pick<Question, 'url' | 's3'>;

async function askEach(
  readers: ReadonlyMap<Engine, Reader>,
  lake: EngineLake,
  { store, at }: { readonly store: Cell['store']; readonly at: At },
): Promise<void> {
  for (const [engine, reader] of readers) {
    if (!engine.layouts.includes(lake.history === 'plain' ? 'plain' : 'delta')) continue;
    if (engine.isSlow && lake.name === 'fleet' && store === 's3') continue;
    await ask(engine, reader, lake, store, at);
  }
}

const versions = new Map<string, string>();
const s3 = await startRadosgw(join(tmpdir(), `vessel-export-engines-${randomBytes(4).toString('hex')}`));
try {
  // One Java at a time: two of them would not fit into a small machine.
  const [spark, trino] = [
    engines.filter(({ name }) => name !== 'trino'),
    engines.filter(({ name }) => name === 'trino'),
  ];
  for (const together of [spark, trino].filter(({ length }) => length > 0)) await readAll(together);
} finally {
  await s3.stop();
}
const gone = FLAWS.filter((flaw) => engines.some(({ name }) => name === flaw.engine) && !seen.has(flaw));
for (const { engine, says } of gone) console.log(`NO LONGER ${engine}: ${says}`);
if (unknown === 0) await writeTable(versions, cells);
console.log(
  `${cells.length} lakes read, ${unknown} wrong answers that are not known, ${gone.length} known ones not seen`,
);
process.exitCode = unknown + gone.length > 0 ? 1 : 0;
