/** A lake, and a folder of jobs, that somebody else has written to. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Category, HostileInput } from '../input.ts';
import { shown, words } from '../input.ts';
import type { ExporterFace, Sandbox } from './exporter-face.ts';
import { DATE, filesBelow, NEXT_DATE, VESSEL } from './exporter-face.ts';
import { faultOfEnd } from './held.ts';

const DAYS = ['--from', DATE, '--to', NEXT_DATE];
const KEYS = {
  receipt: `_ledger/readings/date=${DATE}/vessel=${VESSEL}.json`,
  detail: `_detail/readings/date=${DATE}/vessel=${VESSEL}.json.gz`,
  note: `_notes/readings/date=${DATE}/vessel=${VESSEL}.json`,
  object: `readings/vessel=${VESSEL}/date=${DATE}/data.parquet`,
} as const;

type Change = (sandbox: Sandbox) => Promise<unknown>;
/** A key of the lake, or another file of a sandbox. */
type Place = string | ((sandbox: Sandbox) => string);

/** Do something where a file was. */
const inPlaceOf =
  (place: Place, make: (file: string) => unknown): Change =>
  async (sandbox) => {
    const file = typeof place === 'string' ? join(sandbox.lake, place) : place(sandbox);
    await mkdir(dirname(file), { recursive: true });
    await rm(file, { recursive: true, force: true });
    await make(file);
  };
const put = (place: Place, bytes: string | Buffer) => inPlaceOf(place, (file) => writeFile(file, bytes));
const fifo = (place: Place) => inPlaceOf(place, (file) => execFileSync('mkfifo', [file]));
const link = (place: Place, to: string) => inPlaceOf(place, (file) => symlink(to, file));
const folder = (place: Place) => inPlaceOf(place, (file) => mkdir(file));
const sparse = (place: Place, bytes: number) =>
  inPlaceOf(place, async (file) => {
    await writeFile(file, '');
    await truncate(file, bytes);
  });
const unreadable = (place: Place) => inPlaceOf(place, (file) => writeFile(file, 'x', { mode: 0 }));
/** The first half of a file. */
const halved =
  (key: string): Change =>
  async ({ lake }) => {
    const file = join(lake, key);
    await truncate(file, ((await readFile(file)).length / 2) | 0);
  };

/** Alter a receipt, as JSON. */
const receipt =
  (alter: (receipt: Record<string, unknown>) => unknown): Change =>
  async ({ lake }) => {
    const file = join(lake, KEYS.receipt);
    const known = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    await writeFile(file, JSON.stringify(alter(known) ?? known));
  };

const DEEP = '['.repeat(200_000);
const ESC = '\u001b[31m\u0007\u202e';

/** What is done to a lake whose one day was exported well, by name. */
const CHANGES: readonly (readonly [string, Change])[] = [
  ...(['receipt', 'detail', 'note', 'object'] as const).flatMap((kind): [string, Change][] => [
    [`${kind}: empty`, put(KEYS[kind], '')],
    [`${kind}: a folder`, folder(KEYS[kind])],
    [`${kind}: a FIFO`, fifo(KEYS[kind])],
    [`${kind}: a link to nothing`, link(KEYS[kind], '/nonexistent/x')],
    [`${kind}: a link to itself`, link(KEYS[kind], `./${KEYS[kind].split('/').pop()}`)],
    [`${kind}: a link to a device`, link(KEYS[kind], '/dev/zero')],
    [`${kind}: a link out of the lake`, link(KEYS[kind], '/etc/passwd')],
    [`${kind}: a gigabyte of nothing`, sparse(KEYS[kind], 1024 * 1024 * 1024)],
    [`${kind}: text`, put(KEYS[kind], `${ESC}\n`)],
    [`${kind}: null`, put(KEYS[kind], 'null')],
    [`${kind}: deep JSON`, put(KEYS[kind], DEEP)],
    [`${kind}: binary`, put(KEYS[kind], Buffer.from([0xff, 0xfe, 0, 1, 2, 3]))],
    [`${kind}: not to be read`, unreadable(KEYS[kind])],
  ]),
  ['receipt: an array', put(KEYS.receipt, '[]')],
  ['receipt: a prototype', put(KEYS.receipt, '{"__proto__":{"rows":1},"constructor":{"prototype":{"x":1}}}')],
  ['receipt: of version 2', receipt((known) => ({ ...known, receiptVersion: 2 }))],
  ['receipt: version as text', receipt((known) => ({ ...known, receiptVersion: '1' }))],
  ['receipt: rows of 1e400', put(KEYS.receipt, '{"receiptVersion":1,"rows":1e400}')],
  ...([-1, 1.5, '5', null, 2 ** 60, {}] as unknown[]).map((rows): [string, Change] => [
    `receipt: rows ${JSON.stringify(rows)}`,
    receipt((known) => ({ ...known, rows })),
  ]),
  ...[
    '\0',
    ...words('../../canary /etc/passwd ../canary readings/../../canary'),
    ESC,
    '',
    'readings',
    '__proto__',
  ].flatMap((key): [string, Change][] => [
    [
      `receipt: object at ${shown(key)}`,
      receipt((known) => ({ ...known, object: { ...(known.object as object), key } })),
    ],
    [
      `receipt: detail at ${shown(key)}`,
      receipt((known) => ({ ...known, detail: { ...(known.detail as object), key } })),
    ],
  ]),
  ...[...words('job vessel date dataset settingsHash proof firstTimestamp version finishedAt epoch')].map(
    (field): [string, Change] => [
      `receipt: ${field} of control characters`,
      receipt((known) => ({ ...known, [field]: `${ESC}../..` })),
    ],
  ),
  ['receipt: text of 20 MB', receipt((known) => ({ ...known, version: 'x'.repeat(20_000_000) }))],
  [
    'receipt: 100,000 parts',
    receipt((known) => ({
      ...known,
      object: {
        ...(known.object as object),
        parts: Array.from({ length: 100_000 }, () => ({ sizeBytes: 1, sha256: 'x' })),
      },
    })),
  ],
  [
    'receipt: a warning of control characters',
    receipt((known) => ({ ...known, remark: { kind: ESC, message: ESC } })),
  ],
  [
    'receipt: of another vessel-day',
    receipt((known) => ({ ...known, vessel: 'IMO9322853', date: '2020-01-01' })),
  ],
  ['detail: a bomb', put(KEYS.detail, gzipSync(Buffer.alloc(512 * 1024 * 1024, 0x20)))],
  ['detail: deep JSON, packed', put(KEYS.detail, gzipSync(DEEP))],
  ['detail: a prototype', put(KEYS.detail, gzipSync('{"__proto__":{"ours":{}},"ours":{"__proto__":[1]}}'))],
  ['detail: cut', halved(KEYS.detail)],
  [
    'note: control characters',
    put(KEYS.note, JSON.stringify({ noteVersion: 1, state: ESC, code: ESC, message: ESC.repeat(10_000) })),
  ],
  ['object: cut', halved(KEYS.object)],
  [
    'object: a byte flipped',
    async ({ lake }) => {
      const file = join(lake, KEYS.object);
      const bytes = await readFile(file);
      bytes[bytes.length >> 1]! ^= 0xff;
      await writeFile(file, bytes);
    },
  ],
  [
    'object: magic and zeros',
    put(KEYS.object, Buffer.from(`PAR1${'\0'.repeat(100)}\x64\0\0\0PAR1`, 'latin1')),
  ],
  ['_lake.json: another version', put('_lake.json', '{"layout":"plain","formatVersion":99}')],
  ['_lake.json: text', put('_lake.json', ESC)],
  ['_lake.json: a FIFO', fifo('_lake.json')],
  ['_index: rubbish', put('_index/readings/2026-01.parquet', 'rubbish')],
  [
    '_index: a bomb',
    put('_index/readings/2026-01.ndjson.gz', gzipSync(Buffer.alloc(512 * 1024 * 1024, 0x0a))),
  ],
  ['_index: a FIFO', fifo('_index/readings/2026-01.parquet')],
  ['_accepted: rubbish', put(`_accepted/readings/vessel=${VESSEL}.json`, DEEP)],
  ['a claim: rubbish', put(`_checkpoints/readings/date=${DATE}/vessel=${VESSEL}/7.json`, '{')],
  [
    'a claim: a prototype',
    put(`_checkpoints/readings/date=${DATE}/vessel=${VESSEL}/7.json`, '{"__proto__":{}}'),
  ],
  [
    'a claim: of epoch 2^53',
    put(`_checkpoints/readings/date=${DATE}/vessel=${VESSEL}/9007199254740993.json`, '{}'),
  ],
  ['a claim: a FIFO', fifo(`_checkpoints/readings/date=${DATE}/vessel=${VESSEL}/7.json`)],
  [
    'strange names',
    async (sandbox) => {
      for (const name of [
        'vessel=..',
        'vessel=\u001b[31m',
        `vessel=${'x'.repeat(200)}`,
        'vessel=IMO9322853',
        '__proto__',
        'vessel=a\nb',
      ])
        await put(`readings/${name}/date=2026-01-05/data.parquet`, 'x')(sandbox);
      for (const name of ['\u001b[31m', '__proto__', 'vessel=a\nb', 'vessel=IMO9322853'])
        await put(`_ledger/readings/date=${DATE}/${name}.json`, '{}')(sandbox);
    },
  ],
  [
    'a folder that links to itself',
    async ({ lake }) => symlink('.', join(lake, 'readings', 'vessel=IMO9322853')),
  ],
  ['backfills: rubbish', put('_backfills/x.json', DEEP)],
];

/** What looks at a lake, each of which is to be sound after a change. */
const LOOKS: readonly (readonly string[])[] = [
  ['status', ...DAYS],
  ['status', ...DAYS, '--json'],
  ['verify', ...DAYS],
  ['verify', ...DAYS, '--deep'],
  ['run', ...DAYS],
  ['reconcile', ...DAYS],
  ['gc'],
];

function looked(
  name: string,
  change: Change,
  looks: readonly (readonly string[])[],
): HostileInput<ExporterFace> {
  return {
    name: shown(name),
    async send(face) {
      await using sandbox = await face.publishedSandbox();
      await change(sandbox);
      sandbox.planted = await notesOf(sandbox);
      for (const args of looks) {
        const end = await face.run(sandbox, args);
        const fault = await faultOfEnd(face, sandbox, end);
        if (fault !== undefined) return `${args.join(' ')}: ${fault}`;
      }
      return undefined;
    },
  };
}

async function notesOf({ lake }: Sandbox): Promise<ReadonlyMap<string, Buffer>> {
  const notes = (await filesBelow(lake)).filter((file) => file.includes('/_notes/'));
  return new Map(await Promise.all(notes.map(async (file) => [file, await small(file)] as const)));
}

async function small(file: string): Promise<Buffer> {
  return (await stat(file)).size < 64 * 1024 * 1024 ? await readFile(file) : Buffer.alloc(0);
}

export const LAKES: Category<ExporterFace> = {
  name: 'hostile lake',
  hangMs: 120_000,
  // The commands in turn, so that each meets every kind of change; the damaged object meets all.
  inputs: CHANGES.map(([name, change], index) => {
    const picked = [0, 2, 4].map((step) => LOOKS[(index + step) % LOOKS.length]!);
    return looked(name, change, /^(object|receipt): (?:a |empty|of )/.test(name) ? LOOKS : picked);
  }),
};

const MUST_FIND: readonly (readonly [string, Change])[] = [
  ['the object is gone', async ({ lake }) => rm(join(lake, KEYS.object))],
  ['the object is another', put(KEYS.object, 'PAR1')],
  ['the receipt counts one row more', receipt((known) => ({ ...known, rows: Number(known.rows) + 1 }))],
  ['the receipt is of another day', receipt((known) => ({ ...known, date: '2026-01-04' }))],
  ['the detail is gone', async ({ lake }) => rm(join(lake, KEYS.detail))],
  ['the receipt is no JSON', put(KEYS.receipt, '{')],
];

/** Silence and exit code 0 where something is wrong is the worst that verify can do. */
function found(name: string, change: Change): HostileInput<ExporterFace> {
  return {
    name: `verify finds that ${name}`,
    async send(face) {
      await using sandbox = await face.publishedSandbox();
      await change(sandbox);
      const end = await face.run(sandbox, ['verify', ...DAYS]);
      if (end.code !== 1) return `exit code ${end.code}: ${shown(end.stdout)}`;
      return await faultOfEnd(face, sandbox, end);
    },
  };
}

const JOB: Place = ({ jobs }) => join(jobs, 'readings.yaml');
const job = (text: string | Buffer) => put(JOB, text);
const ALIASES = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
  .split('')
  .map((name, i) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefghij'[i]}`).join()}]`)
  .join('\n')}\ndataset: measurements\n`;

/** Job files that are wrong: exit code 2, with every fault named. */
const JOBS: readonly (readonly [string, Change])[] = [
  ['an alias bomb', job(ALIASES)],
  ['empty', job('')],
  ['a tab', job('\tdataset: x')],
  ['binary', job(Buffer.from([0xff, 0xfe, 0, 1]))],
  ['control characters', job(`dataset: "\\e[31m\\a"\nvessels: ["\\e[2J"]\n"\\e]0;x\\a": 1\n`)],
  ['deep', job(`dataset: ${'['.repeat(20_000)}`)],
  ['a prototype', job('__proto__: {dataset: measurements}\nconstructor: x\n')],
  ['a merge key', job('<<: {dataset: measurements}\nvessels: [x]\n')],
  ['a tag', job('dataset: !!js/function "function(){}"\n')],
  [
    '100,000 vessels',
    job(
      `dataset: measurements\nvessels: [${Array.from({ length: 100_000 }, (_, i) => `x${i}`).join()}]\nselect: [flat/x]\n`,
    ),
  ],
  ['two documents', job('dataset: measurements\n---\ndataset: statistics\n')],
  [
    'a vessel that climbs',
    job(`dataset: measurements\nvessels: ["../../canary"]\nselect: ["flat/{vessel}/*"]\n`),
  ],
  ['a folder of that name', folder(JOB)],
  ['a FIFO', fifo(JOB)],
  ['a link to nothing', link(JOB, '/nonexistent')],
  ['a gigabyte', sparse(JOB, 1024 * 1024 * 1024)],
  ['a name of control characters', put(({ jobs }) => join(jobs, '\u001b[31m.yaml'), 'x')],
];

function refused(name: string, change: Change): HostileInput<ExporterFace> {
  return {
    name: `job file: ${name}`,
    async send(face) {
      await using sandbox = await face.sandbox();
      await change(sandbox);
      const end = await face.run(sandbox, ['run', ...DAYS]);
      const fault = await faultOfEnd(face, sandbox, end);
      return (
        fault ?? (end.code === 2 ? undefined : `exit code ${end.code}: ${shown(end.stderr.slice(-300))}`)
      );
    },
  };
}

export const FILES: Category<ExporterFace> = {
  name: 'damage and job files',
  inputs: [
    ...MUST_FIND.map(([name, change]) => found(name, change)),
    ...JOBS.map(([name, change]) => refused(name, change)),
  ],
};
