/** A source whose names are code, to whoever asks its lake by `sql` or prints its views; and people who type what `sql` may not do. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { DIALECTS } from '../../../src/query/views/dialects/index.ts';
import { MARKER, TEXTS } from '../../helpers/hostile-sql.ts';
import { hostileNames, unseenIn } from '../../helpers/hostile-text.ts';
import { ESCAPES, MORE_ESCAPES } from '../../helpers/sql-escapes.ts';
import type { Category, HostileInput } from '../input.ts';
import { shown } from '../input.ts';
import { rewritten } from './answers.ts';
import type { ExporterFace, Plan, Sandbox } from './exporter-face.ts';
import { filesBelow, READINGS, RUN_ARGS, VESSEL } from './exporter-face.ts';
import { faultOfEnd } from './held.ts';

/** Of jobs with names and readings. */
const JOBS = {
  measurements: READINGS,
  metadata: { ...READINGS, dataset: 'metadata' },
};
const ENGINES = [...Object.keys(DIALECTS), 'dbt'];

/** What is printed of views that has no business there. */
function faultOfScript(engine: string, script: string): string | undefined {
  const calls = engine === 'dbt' ? /\{\{ (?:ref|source)\('[\w', ]+'\) \}\}/g : /(?!)/g;
  const rest = script.replace(calls, '');
  const filled = /\{\{|\{%|\{#|\$\{|\$\(|<%/.exec(rest);
  if (filled !== null)
    return `something to be filled in: ${shown(rest.slice(filled.index, filled.index + 60))}`;
  const line = script.split('\n').find((one) => /^\s*[^\s"`[]{0,3}zqx/.test(one));
  return line && `a line of a name: ${shown(line)}`;
}

async function digestOf(lake: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await filesBelow(lake)).sort())
    hash.update(relative(lake, file)).update(await readFile(file));
  return hash.digest('hex');
}

interface Named {
  id: string;
  timeSeriesId: string;
  unitOfMeasure: string;
  domains: { flat: { id: string; shortName: string } } & Record<string, unknown>;
}

/** Every series is called like this; where it is to be an id, the first one has it in all answers. */
function calling(text: string, isId: boolean): Plan {
  let first: string | undefined;
  const metadata = (body: string) => {
    const series = JSON.parse(body) as Named[];
    first ??= series[0]!.timeSeriesId;
    for (const one of series) {
      one.id = `${VESSEL}/${text}`;
      one.unitOfMeasure = text;
      one.domains.flat = { id: one.id, shortName: text };
      one.domains[text] = { id: text };
    }
    return renamed(JSON.stringify(series));
  };
  const renamed = (body: string) =>
    isId && first !== undefined ? body.replaceAll(JSON.stringify(first), JSON.stringify(text)) : body;
  return {
    ...rewritten('metadata', metadata),
    ...rewritten('statistics', renamed),
    ...rewritten('measurements', renamed),
  };
}

/** Ask the lake in every way that puts names into SQL: what is wrong. */
async function askAll(face: ExporterFace, sandbox: Sandbox): Promise<string | undefined> {
  const before = await digestOf(sandbox.lake);
  const asked = [
    ['sql', 'SHOW TABLES'],
    ['sql', 'SELECT count(*) FROM series', '--csv'],
    ['sql', 'SELECT * FROM wide', '--columns', 'all', '--json'],
    ...ENGINES.map((engine) => {
      const url = { bigquery: 'gs', fabric: 'https' }[engine] ?? 's3';
      return ['views', '--for', engine, '--columns', 'all', '--location', `${url}://bucket/lake`];
    }),
  ];
  for (const args of asked) {
    const end = await face.run(sandbox, args);
    const fault =
      (await faultOfEnd(face, sandbox, end)) ??
      (end.code === 0 ? undefined : `exit code ${end.code}: ${shown(end.stderr.slice(-400), 400)}`) ??
      (args[0] === 'views' ? faultOfScript(args[2]!, end.stdout) : undefined);
    if (fault !== undefined) return `${shown(args.join(' '))}: ${fault}`;
    if ((await digestOf(sandbox.lake)) !== before) return `${shown(args.join(' '))}: it changed the lake`;
  }
  return undefined;
}

function named(text: string, isId: boolean): HostileInput<ExporterFace> {
  return {
    name: `${isId ? 'an id' : 'names'}: ${shown(text)}`,
    async send(face) {
      await using sandbox = await face.sandbox(JOBS.measurements);
      await writeFile(join(sandbox.jobs, 'names.yaml'), stringify(JOBS.metadata));
      face.front.plan = calling(text, isId);
      const ends = [
        await face.run(sandbox, ['run', 'names', '--from', 'today']),
        await face.run(sandbox, ['run', 'readings', ...RUN_ARGS.slice(1)]),
      ];
      for (const end of ends) {
        const fault = await faultOfEnd(face, sandbox, end);
        if (fault !== undefined) return fault;
      }
      const isRefused = isId && unseenIn(text).length > 0;
      if (isRefused) {
        const lax = ends.find(
          ({ code, stdout, stderr }) => code === 0 || !`${stdout}${stderr}`.includes('an id of at most'),
        );
        return lax && `an id that cannot be seen was not refused: ${shown(lax.stderr.slice(-300), 300)}`;
      }
      const failed = ends.find(({ code }) => code !== 0);
      if (failed !== undefined) return `exit code ${failed.code}: ${shown(failed.stderr.slice(-300), 300)}`;
      return await askAll(face, sandbox);
    },
  };
}

const { half: _, ...NAMES } = hostileNames;

export const SQL_NAMES: Category<ExporterFace> = {
  name: 'names that are code',
  inputs: [...new Set([...TEXTS, ...Object.values(NAMES), `{{ env_var("${MARKER}") }}`])].flatMap((text) => [
    named(text, false),
    named(text, true),
  ]),
};

function typed(way: string): HostileInput<ExporterFace> {
  return {
    name: shown(way),
    async send(face) {
      await using sandbox = await face.publishedSandbox();
      const out = join(sandbox.path, 'canary');
      const statement = way
        .replaceAll('{lake}', sandbox.lake)
        .replaceAll('{job}', join(sandbox.lake, 'readings'))
        .replaceAll('{out}/secret.csv', out)
        .replaceAll('{out}', sandbox.path);
      const before = await digestOf(sandbox.lake);
      const end = await face.run(sandbox, ['sql', statement, '--json']);
      const fault = await faultOfEnd(face, sandbox, end);
      if (fault !== undefined) return fault;
      if (end.code === 0) return `it was run: ${shown(end.stdout)}`;
      if (end.stdout.includes('sings') || end.stderr.includes('sings'))
        return 'it showed a file beside the lake';
      return (await digestOf(sandbox.lake)) === before ? undefined : 'it changed the lake';
    },
  };
}

export const SQL_TYPED: Category<ExporterFace> = {
  name: 'SQL that does more than read',
  inputs: [...ESCAPES, ...MORE_ESCAPES].filter((way) => !way.includes('\0')).map(typed),
};
