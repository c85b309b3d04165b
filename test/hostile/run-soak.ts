/**
 * The soak: a service of each kind for half the time, under honest and hostile clients at once. What it answers, with what a
 * quiet one answers as the measure, and what it holds of memory and handles.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newTempFolder } from '../helpers/temp.ts';
import { openExporter } from './exporter/exporter-face.ts';
import type { HostileInput } from './input.ts';
import { TOKEN_ENDPOINT, TOKENS } from './service/access.ts';
import { BODIES, EXPRESSIONS } from './service/bodies.ts';
import { abandoned, halfSent } from './service/load.ts';
import { EDGES, FORMS, INJECTION } from './service/parameters.ts';
import { SCOPE } from './service/scope.ts';
import type { Asked, ServiceFace, StartOptions } from './service/service-face.ts';
import { FOREIGN, MAX_SERVICE_BYTES, startServiceProcess, VESSEL } from './service/service-face.ts';
import { PATHS, WIRE } from './service/wire.ts';

const HOUR = 'from=2026-01-05T03:00:00Z&to=2026-01-05T04:00:00Z';
const DAY = 'from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z';
const NEW = 'x-api-version: 2026-09-10';

/** All families, formats and both versions, small and larger. */
const HONEST: readonly Asked[] = [
  ...['json', 'ndjson', 'parquet'].flatMap((format) => [
    { path: `/measurements/flat/${VESSEL}/S*?${HOUR}&format=${format}` },
    { path: `/measurements/flat/${VESSEL}/*?${DAY}&format=${format}&output_domain=id` },
    { path: `/measurements/jsmea/${FOREIGN}/*?${HOUR}&format=${format}` },
  ]),
  ...['json', 'ndjson', 'csv', 'html'].flatMap((format) => [
    {
      path: `/statistics/flat/${VESSEL}/S*?${DAY}&window=1h&aggregations=count&format=${format}`,
      headers: [NEW],
    },
    {
      path: `/statistics/flat/${VESSEL}/Roll?${DAY}&window=10m&aggregations=mean,stddev,first_time&format=${format}`,
    },
  ]),
  { path: `/metadata/flat/${VESSEL}/*` },
  { path: '/metadata/maker/*/*/*', headers: [NEW] },
  { path: `/metadata/vis-3-8a/${VESSEL}/*/*/meta/*?verbose=true&format=ndjson`, headers: [NEW] },
  {
    method: 'POST',
    path: `/measurements/query?${DAY}&format=ndjson`,
    headers: ['content-type: application/json'],
    body: JSON.stringify([`flat/${VESSEL}/Roll`, `parameters/${FOREIGN}/{Roll,Pitch}`]),
  },
];

/** What goes on for ever at a time: so many honest clients, and so many hostile ones. */
const HONEST_CLIENTS = 4;
const HOSTILE_CLIENTS = 3;
const SAMPLE_MS = 1_000;

const HOSTILE: readonly HostileInput<ServiceFace>[] = [
  ...[TOKENS, TOKEN_ENDPOINT, SCOPE, INJECTION, EDGES, FORMS, PATHS, WIRE, BODIES, EXPRESSIONS].flatMap(
    ({ inputs }) => inputs,
  ),
  ...Array.from({ length: 40 }, (_, i) =>
    abandoned(
      `days of readings ${i}`,
      {
        path: `/measurements/flat/*/*?from=2026-01-0${1 + (i % 3)}&to=2026-01-0${4 + (i % 5)}&format=${['ndjson', 'json', 'parquet'][i % 3]}`,
      },
      5,
      i % 2 === 0,
    ),
  ),
  ...Array.from({ length: 20 }, () => halfSent(20)),
];

interface Sample {
  readonly atMs: number;
  readonly residentBytes: number;
  readonly handles: number;
  readonly tempFiles: number;
}

interface Soaked {
  readonly honest: number;
  readonly hostile: number;
  /** Honest answers that were not as on a quiet service, in words. */
  readonly wrong: readonly string[];
  readonly samples: readonly Sample[];
  readonly peakBytes: number;
  /** Handles before the first client, and after the last. */
  readonly handlesBefore: number;
  readonly handlesAfter: number;
  /** Temporary files after the last client. */
  readonly tempFilesAfter: number;
}

/** Status, length and digest of a whole answer. */
async function digest(face: ServiceFace, asked: Asked): Promise<string> {
  const answer = await face.ask({
    ...asked,
    authorization: `Bearer ${face.wide.token}`,
    waitMs: 60_000,
    maxBytes: Number.POSITIVE_INFINITY,
  });
  const { status, body, isWhole } = answer;
  const sha256 = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return `${status}${isWhole ? '' : ', broken off,'} ${body.length} bytes ${sha256}`;
}

/** Ask honestly and not, for a while. `tempDir`: where the service puts its temporary files. */
async function soakService(
  face: ServiceFace,
  expected: readonly string[],
  { forMs, tempDir }: { readonly forMs: number; readonly tempDir: string },
): Promise<Soaked> {
  const { process } = face;
  const until = performance.now() + forMs;
  const isOver = () => performance.now() >= until || !process.isAlive();
  const wrong: string[] = [];
  const samples: Sample[] = [];
  let [honest, hostile] = [0, 0];
  const handlesBefore = process.openHandles();
  process.forgetPeak();
  const askHonestly = async (client: number) => {
    for (let turn = client; !isOver(); turn++) {
      const at = turn % HONEST.length;
      const got = await digest(face, HONEST[at]!);
      honest++;
      if (got !== expected[at]) wrong.push(`${HONEST[at]!.path}: got ${got}, expected ${expected[at]}`);
    }
  };
  const beHostile = async (client: number) => {
    // Through all of them in an order that mixes kinds; 7919 shares no factor with their number.
    for (let turn = client * 101; !isOver(); turn += 1) {
      await HOSTILE[(turn * 7919) % HOSTILE.length]!.send(face).catch(() => {});
      hostile++;
    }
  };
  const tempFiles = async () => (await readdir(tempDir, { recursive: true })).length;
  const sample = async () => {
    while (!isOver()) {
      samples.push({
        atMs: forMs - (until - performance.now()),
        residentBytes: process.residentBytes(),
        handles: process.openHandles(),
        tempFiles: await tempFiles(),
      });
      await sleep(SAMPLE_MS);
    }
  };
  await Promise.all([
    sample(),
    ...Array.from({ length: HONEST_CLIENTS }, (_, client) => askHonestly(client * 5)),
    ...Array.from({ length: HOSTILE_CLIENTS }, (_, client) => beHostile(client)),
  ]);
  if (!process.isAlive()) wrong.push(`the service has ended: ${face.log().slice(-300)}`);
  const handlesAfter = await settledHandles(face, handlesBefore);
  const after = { peakBytes: process.peakBytes(), handlesAfter, tempFilesAfter: await tempFiles() };
  return { honest, hostile, wrong, samples, handlesBefore, ...after };
}

const SETTLE_MS = 30_000;

/** Handles once they are as few as before, or as they are when that takes too long. */
async function settledHandles({ process }: ServiceFace, before: number): Promise<number> {
  for (let waitedMs = 0; waitedMs < SETTLE_MS && process.openHandles() > before; waitedMs += SAMPLE_MS)
    await sleep(SAMPLE_MS);
  return process.openHandles();
}

/** The floor of memory may rise by so much from the time after warming up to the end: heaps are not returned at once. */
const MAX_GROWTH_BYTES = 64 * 1024 * 1024;
const MAX_MORE_HANDLES = 4;

/** What grew between the first samples after `warmMs` and the last ones, in words. */
function growthOf(
  { samples, handlesBefore, handlesAfter }: Soaked,
  warmMs: number,
  windowMs: number,
): string[] {
  const endMs = samples.at(-1)?.atMs ?? 0;
  const early = samples.filter(({ atMs }) => atMs >= warmMs && atMs < warmMs + windowMs);
  const late = samples.filter(({ atMs }) => atMs >= endMs - windowMs);
  if (early.length === 0 || late.length === 0) return ['too short to see anything grow'];
  const least = (of: readonly Sample[], what: keyof Sample) => Math.min(...of.map((sample) => sample[what]));
  const grown: string[] = [];
  const [before, after] = [least(early, 'residentBytes'), least(late, 'residentBytes')];
  if (after - before > MAX_GROWTH_BYTES)
    grown.push(`memory grew from ${Math.round(before / 2 ** 20)} to ${Math.round(after / 2 ** 20)} MB`);
  if (least(late, 'tempFiles') > least(early, 'tempFiles'))
    grown.push(`temporary files grew from ${least(early, 'tempFiles')} to ${least(late, 'tempFiles')}`);
  if (handlesAfter > handlesBefore + MAX_MORE_HANDLES)
    grown.push(
      `${handlesAfter} handles are open when all clients have gone, ${handlesBefore} before they came`,
    );
  return grown;
}

const MINUTE_MS = 60_000;

export interface SoakResult {
  readonly name: string;
  readonly soaked: Soaked;
  /** What did not hold, in words. */
  readonly findings: readonly string[];
}

/** `forMs` in all. Growth is looked at after the first minute, or a quarter of the time where that is less. */
export async function runSoak({ forMs }: { readonly forMs: number }): Promise<SoakResult[]> {
  await using root = await newTempFolder();
  const own = { folder: root.path, readingsPerDay: 20_000 };
  const fleet = await soakOne('made-up fleet', forMs / 2, own);
  await using exporter = await openExporter();
  const served = await soakOne('lake', forMs / 2, { ...own, dataDir: await exporter.servedLake() });
  return [fleet, served];
}

async function soakOne(name: string, forMs: number, options: StartOptions): Promise<SoakResult> {
  const expected = await answersOfQuiet(options);
  const tempDir = join(options.folder, `temp-of-${name.replaceAll(' ', '-')}`);
  await mkdir(tempDir);
  await using service = await startServiceProcess({ ...options, tempDir });
  const soaked = await soakService(service.face, expected, { forMs, tempDir });
  const warmMs = Math.min(MINUTE_MS, forMs / 4);
  const findings = [...soaked.wrong, ...growthOf(soaked, warmMs, warmMs)];
  if (soaked.peakBytes > MAX_SERVICE_BYTES)
    findings.push(`the service took ${Math.round(soaked.peakBytes / 2 ** 20)} MB`);
  return { name, soaked, findings };
}

/** Answers of a service that nobody else asks: what the same service must answer among others. */
async function answersOfQuiet(options: StartOptions): Promise<readonly string[]> {
  await using quiet = await startServiceProcess(options);
  const answers: string[] = [];
  for (const asked of HONEST) answers.push(await digest(quiet.face, asked));
  return answers;
}
