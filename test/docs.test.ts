/** README and docs/ are a promise: links lead somewhere, tables name what there is. Examples run in docs-examples.test.ts. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { allCommands, programHelp } from '../docs/tools/command-line.ts';
import { ROOT, refreshPage } from '../docs/tools/generate.ts';
import { codeSpans, headings, linkTargets, sectionOf, slug, tableRows } from '../docs/tools/markdown.ts';
import { FINDING_STATES } from '../src/audit/reconcile/compare-day.ts';
import { COVERAGE_STATES } from '../src/audit/status/cells.ts';
import * as exitCodes from '../src/cli/commands/context.ts';
import { messageOf } from '../src/core/errors.ts';
import { AGGREGATIONS } from '../src/core/model/index.ts';
import type { Column } from '../src/parquet/write/columns.ts';
import { MEASUREMENT_COLUMNS, METADATA_COLUMNS, statisticsColumns } from '../src/parquet/write/columns.ts';
import { parseJob, readJobs } from '../src/runtime/config/jobs.ts';
import { VARIABLES } from '../src/runtime/config/variables.ts';
import { s3Error } from '../src/store/s3/errors.ts';
import { composeText } from './helpers/compose-file.ts';
import { blocksOf, namesIn, PAGES, page, SHELL_LINES } from './helpers/pages.ts';
import { VESSEL } from './helpers/run.ts';

const README_BYTES = 10_240;

test('the README is a first page', () => {
  expect(Buffer.byteLength(page('README.md'))).toBeLessThanOrEqual(README_BYTES);
});

test('the figures of the README are those of the benchmarks', () => {
  const figures =
    sectionOf(page('README.md'), 'Figures').match(/\d[\d,.]*(?<=\d)(?: (?:s|MB|million))?/g) ?? [];
  const measured = page('docs/benchmarks.md');
  expect(figures.filter((figure) => !measured.includes(figure))).toEqual([]);
  expect(figures.length).toBeGreaterThan(5);
});

test('every page of docs/ begins with what it is for', () => {
  const begins = PAGES.filter(({ name }) => name.startsWith('docs/')).map(({ name, text }) => ({
    name,
    begins: /^# .+\n\n\S[^\n]*/.test(text),
  }));
  expect(begins.filter((one) => !one.begins)).toEqual([]);
});

test.for(PAGES)('links of $name lead somewhere', ({ path, text }) => {
  const broken = linkTargets(text).filter((target) => {
    if (/^[a-z]+:/.test(target)) return !/^(https:|mailto:)/.test(target);
    const [file, anchor] = target.split('#');
    const to = file === '' ? path : resolve(dirname(path), file!);
    if (!existsSync(to)) return true;
    if (anchor === undefined) return false;
    return statSync(to).isDirectory() || !headings(readFileSync(to, 'utf8')).map(slug).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('the README leads to every page', () => {
  const linked = new Set(linkTargets(page('README.md')).map((target) => target.split('#')[0]));
  const missing = PAGES.filter(({ name }) => name.startsWith('docs/') && !linked.has(name));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test.for(PAGES)("what is generated in $name is up to date (else 'npm run generate')", async ({ text }) => {
  expect(await refreshPage(text)).toBe(text);
});

test('every command line names a command and options that exist', () => {
  const commands = allCommands();
  const wrong = SHELL_LINES.filter(({ words }) => {
    const help = commands.find(({ name }) => name === words[0])?.help;
    const options = words.filter((word) => word.startsWith('--'));
    return help === undefined || options.some((option) => !hasOption(help, option));
  });
  expect(wrong.map(({ where, line }) => `${where}: ${line}`)).toEqual([]);
  expect(SHELL_LINES.length).toBeGreaterThan(10);
});

test('every option that a page names exists', () => {
  const helps = programHelp()
    .map(({ help }) => help)
    .join('\n');
  const wrong = PAGES.flatMap(({ name, text }) =>
    codeSpans(text)
      .filter((span) => !/^(npm |npx (?!vessel-export)|docker |bash )/.test(span))
      .flatMap((span) => span.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])
      .filter((option) => !hasOption(helps, option))
      .map((option) => `${name}: ${option}`),
  );
  expect(wrong).toEqual([]);
});

function hasOption(help: string, option: string): boolean {
  return new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(help);
}

const jobFiles = blocksOf('yaml').filter(({ text }) => text.startsWith('# jobs/'));

test.for(jobFiles)('the job at $where is one', ({ text }) => {
  const path = /^# (jobs\/\S+)\n/.exec(text)![1]!;
  const { job, faults } = parseJob(path, basename(path, '.yaml'), text);
  expect(faults).toEqual([]);
  expect(job?.dataset).toBeDefined();
});

test('the example of a job in jobs/ is one, and none of those that a folder has', () => {
  const name = 'dashboards.yaml.example';
  const text = readFileSync(join(ROOT, 'jobs', name), 'utf8');
  expect(parseJob('jobs/dashboards.yaml', 'dashboards', text)).toMatchObject({
    faults: [],
    job: { dataset: 'statistics' },
  });
  expect(readJobs(join(ROOT, 'jobs')).jobs.map((job) => job.name)).not.toContain('dashboards');
});

test('the table of job keys names the keys of a job file', () => {
  const fewest = { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] };
  const keys = namesIn('docs/jobs-and-settings.md', 'Jobs').filter((name) => /^[a-z]+$/.test(name));
  const isKey = (key: string) => {
    const { faults } = parseJob('jobs/x.yaml', 'x', JSON.stringify({ ...fewest, [key]: 7 }));
    return faults.some((fault) => fault.startsWith(`jobs/x.yaml: ${key}: got 7`));
  };
  expect(keys.filter((key) => !isKey(key))).toEqual([]);
  const used = readdirSync(join(ROOT, 'jobs')).flatMap((name) =>
    [...readFileSync(join(ROOT, 'jobs', name), 'utf8').matchAll(/^([a-z]+):/gm)].map((match) => match[1]!),
  );
  expect([...new Set(used)].filter((key) => !keys.includes(key))).toEqual([]);
});

test('every setting that a page names exists', () => {
  const settings = VARIABLES.flatMap(({ name, fromFile }) =>
    fromFile === true ? [name, `${name}_FILE`] : [name],
  );
  // The compose file takes more from .env.
  const ofCompose = [...composeText().matchAll(/\$\{(\w+)/g)].map((match) => match[1]!);
  const ofTests = ['S3_TEST_ENDPOINT'];
  const ofSdks = ['AZURE_CLIENT_ID', 'AZURE_TENANT_ID'];
  const known = new Set([...settings, ...ofCompose, ...ofTests, ...ofSdks]);
  const words = new Set(settings.map((name) => name.split('_')[0]));
  const wrong = PAGES.flatMap(({ name, text }) =>
    codeSpans(text)
      .flatMap((span) => span.match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b/g) ?? [])
      .filter((setting) => words.has(setting.split('_')[0]) && !known.has(setting))
      .map((setting) => `${name}: ${setting}`),
  );
  expect(wrong).toEqual([]);
});

test('the exit codes are those of the commands', () => {
  const rows = tableRows(sectionOf(page('docs/jobs-and-settings.md'), 'Commands').split('| exit code ')[1]!);
  const codes = Object.entries(exitCodes).filter(([name]) => name.startsWith('EXIT_'));
  expect(rows.map(([code]) => Number(code))).toEqual(codes.map(([, code]) => code));
});

test('the states of status and of reconcile are those of the code', () => {
  expect(namesIn('docs/jobs-and-settings.md', 'What status shows')).toEqual([...COVERAGE_STATES]);
  expect(namesIn('docs/receipts.md', 'What reconcile finds')).toEqual([...FINDING_STATES]);
});

test.for([
  ['measurements', MEASUREMENT_COLUMNS],
  ['metadata', METADATA_COLUMNS],
] as const)('the columns of %s are those of the code, in their order', ([dataset, columns]) => {
  const rows = tableRows(sectionOf(page('docs/lake.md'), dataset));
  expect(rows.map(([name, type]) => [codeSpans(name!)[0], type])).toEqual(
    columns.map((column) => [column.name, typeOf(column)]),
  );
});

test('the columns of statistics are those of the code', () => {
  const rows = tableRows(sectionOf(page('docs/lake.md'), 'statistics'));
  const types = new Map(rows.flatMap(([name, type]) => codeSpans(name!).map((one) => [one, type!] as const)));
  const other = rows.find(([name]) => name === 'every other aggregation')?.[1];
  const wrong = statisticsColumns(AGGREGATIONS).filter(
    (column) => (types.get(column.name) ?? other) !== typeOf(column),
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

function typeOf({ type }: Column): string {
  return { timestamp: 'TIMESTAMP', long: 'INT64', double: 'DOUBLE', text: 'STRING', series: 'STRING' }[type];
}

test('the permissions for S3 are those that its calls need', () => {
  const rows = tableRows(sectionOf(page('docs/operating.md'), 'Permissions'));
  const folder = join(ROOT, 'src/store');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const source = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  const called = source.join('\n').matchAll(/new (\w+)Command\(/g);
  const described = rows.flatMap(([, , calls]) => codeSpans(calls!)).filter((name) => !name.includes(':'));
  expect(
    [...new Set(described)].sort(),
    "the calls of docs/operating.md against 'new …Command(' in src/store",
  ).toEqual([...new Set([...called].map((call) => call[1]!))].sort());
  const denied = { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } };
  const asked = messageOf(s3Error(denied, 'read', 's3://bucket/key', [])).match(/s3:\w+/g);
  expect(
    rows.flatMap(([name]) => codeSpans(name!)).sort(),
    'the permissions of docs/operating.md against CHECK_POLICY in src/store/s3/errors.ts',
  ).toEqual([...new Set(asked)].sort());
});

test('every dependency has its reason', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(namesIn('docs/decisions.md', 'Dependencies').sort()).toEqual(Object.keys(dependencies).sort());
});

test('no word is defined twice in the glossary', () => {
  const words = headings(page('docs/glossary.md')).map(slug);
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

test('every promise of SECURITY.md names tests that are there, and stands in the threat model', () => {
  const promises = sectionOf(page('SECURITY.md'), 'What is promised, and so in scope')
    .split(/^- (?=\*\*)/m)
    .slice(1);
  expect(promises.length).toBeGreaterThan(10);
  const model = page('docs/threat-model.md').replace(/\s+/g, ' ');
  for (const promise of promises) {
    const name = /^\*\*(.+?)\*\*/s.exec(promise)![1]!.replace(/\s+/g, ' ').replace(/\.$/, '');
    const tests = [...promise.matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1]!);
    expect(tests, `SECURITY.md: the tests of '${name}'`).not.toEqual([]);
    for (const path of tests)
      expect(existsSync(join(ROOT, path)), `${path}, which SECURITY.md names`).toBe(true);
    expect(model, 'docs/threat-model.md').toContain(`*${name}*`);
  }
});
