/** The forge's workflows cannot run here: what they name must exist, and nothing of the long tier is left out. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { releaseNotes } from '../../docs/tools/release-notes.ts';

const ROOT = join(import.meta.dirname, '../..');
const WORKFLOWS = join(ROOT, '.github/workflows');
const texts = readdirSync(WORKFLOWS).map((name) => ({
  name,
  text: readFileSync(join(WORKFLOWS, name), 'utf8'),
}));
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[]; readonly strategy?: Strategy }>>;
}
interface Step {
  readonly run?: string;
  readonly uses?: string;
}
interface Strategy {
  readonly matrix: { readonly script: readonly string[] };
}
const workflow = (name: string) => parse(texts.find((one) => one.name === name)!.text) as Workflow;

test.for(texts)(
  '$name runs what there is, by actions of one commit, and may write only what its jobs say',
  ({ text }) => {
    const { jobs, permissions } = parse(text) as Workflow;
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    const ran = steps.flatMap(({ run }) => run ?? []).join('\n');
    const named = [...ran.matchAll(/npm run ([\w-]+)/g)].map((match) => match[1]!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    const files = [...ran.matchAll(/(?:bash|node) ((?:\.ci|docs)\/[\w./-]+)/g)].map((match) => match[1]!);
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(steps.flatMap(({ uses }) => uses ?? []).filter((uses) => !/@[0-9a-f]{40}$/.test(uses))).toEqual(
      [],
    );
    expect(permissions).toEqual({ contents: 'read' });
  },
);

test('each script of the long tier runs every night', () => {
  const nightly = workflow('nightly.yml').jobs.long!.strategy!.matrix.script;
  expect(nightly.filter((name) => scripts[name] === undefined)).toEqual([]);
  const short = ['start', 'vessel-export', 'generate', 'test', 'vitest', 'types', 'lint', 'format', 'build'];
  const others = Object.keys(scripts).filter((name) => ![...short, 'prepack', 'sbom'].includes(name));
  expect([...nightly].sort()).toEqual(others.sort());
});

test('a tag is released only where package.json and the changelog name its version', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- more\n\n## 1.2.3 - 2026-11-23\n\n### Added\n\n- a page\n\n## 1.2.2\n';
  expect(releaseNotes('v1.2.3', '1.2.3', changelog)).toBe('### Added\n\n- a page');
  expect(() => releaseNotes('v1.2.4', '1.2.3', changelog)).toThrow(/'v1\.2\.4'.*1\.2\.3/);
  expect(() => releaseNotes('v1.3.0', '1.3.0', changelog)).toThrow(/no '## 1\.3\.0'/);
  expect(() => releaseNotes('v1.2.2', '1.2.2', changelog)).toThrow(/nothing of 1\.2\.2/);
});

test('the tool of the release ends with 1 for a tag of another version', () => {
  const run = () =>
    execFileSync(process.execPath, [join(ROOT, 'docs/tools/release-notes.ts'), 'v0.0.0'], { stdio: 'pipe' });
  expect(run).toThrow(/package\.json has/);
});
