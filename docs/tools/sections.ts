/** The sections of the documentation that are the code's own words, as Markdown. */
import { readFileSync } from 'node:fs';
import { NEXT_STEPS, OTHER_STEPS } from '../../src/audit/status/next-steps.ts';
import { FINDINGS } from '../../src/audit/verify/findings.ts';
import { FLEET_CAUSES, JOB_CAUSES } from '../../src/fleet/notice-causes.ts';
import { VARIABLES } from '../../src/runtime/config/variables.ts';
import { createMetrics } from '../../src/runtime/monitoring/metrics.ts';
import { allCommands } from './command-line.ts';
import { slug } from './markdown.ts';
import { apiReference } from './reference.ts';

export type Section = () => string | Promise<string>;

/** By the name in the marker. */
export const SECTIONS: Readonly<Record<string, Section>> = {
  settings,
  commands,
  'command-help': commandHelp,
  findings,
  'next-steps': nextSteps,
  metrics: metricsTable,
  causes,
  api: apiReference,
  stores: storesTable,
};

/** Defaults that depend on the machine. */
const DEFAULTS: Readonly<Record<string, string>> = {
  WORKER_CONCURRENCY: 'twice the number of processors',
  TEMP_DIR: "the system's folder for temporary files",
};

/** What `npm run stores -- --write` has found: a row for each question, a column for each server. */
function storesTable(): string {
  const file = new URL('../../test/servers/found.json', import.meta.url);
  const found: Record<string, { title: string; rows: Record<string, string> }> = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  const servers = Object.values(found);
  const questions = [...new Set(servers.flatMap(({ rows }) => Object.keys(rows)))];
  return table(
    ['', ...servers.map(({ title }) => title)],
    questions.map((question) => [question, ...servers.map(({ rows }) => rows[question] ?? '')]),
  );
}

function settings(): string {
  const rows = VARIABLES.map((variable) => {
    const { name, meaning, rule, fromFile, optional } = variable;
    const names = fromFile === true ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
    const fallback = variable.fallback && (DEFAULTS[name] ?? `\`${variable.fallback()}\``);
    return [names, meaning, rule, fallback ?? (optional === true ? 'not set' : '**required**')];
  });
  return table(['variable', 'meaning', 'expected', 'default'], rows);
}

function commands(): string {
  const rows = allCommands().map(({ name, description }) => [
    `[\`${name}\`](commands.md#${slug(name)})`,
    description,
  ]);
  return table(['command', 'what it does'], rows);
}

function commandHelp(): string {
  const sections = allCommands().map(({ name, help }) => `## ${name}\n\n\`\`\`text\n${help}\n\`\`\``);
  return sections.join('\n\n');
}

function findings(): string {
  const rows = Object.entries(FINDINGS).map(([name, { means, next }]) => [`\`${name}\``, means, next]);
  return table(['finding', 'meaning', 'what to do'], rows);
}

function nextSteps(): string {
  const rows = NEXT_STEPS.map(({ codes, next }) => [
    codes.map((code) => `\`${code}\``).join(', '),
    asMarkdown(next),
  ]);
  return table(['code', 'what to do'], [...rows, ['any other', asMarkdown(OTHER_STEPS.failed)]]);
}

function causes(): string {
  const rows = Object.entries({ ...FLEET_CAUSES, ...JOB_CAUSES }).map(([kind, { begins, over, runbook }]) => {
    const advice = `[what to do](monitoring-runbook.md#${slug(runbook)})`;
    return [`\`${kind}\``, begins, over, advice];
  });
  return table(['cause', 'begins when', 'ends when', ''], rows);
}

/** Commands in quotes, as code. */
function asMarkdown(text: string): string {
  return text.replace(/'(vessel-export [^']+|[a-z]+)'/g, '`$1`');
}

/** What is registered, but for the defaults of the library. */
function metricsTable(): string {
  const { registry } = createMetrics({
    concurrencyLimit: () => 1,
    depth: async () => ({}),
    active: () => 0,
    oldestVesselDayMs: () => 0,
    oldestRequestMs: () => 0,
    takesWrites: async () => true,
    isHeld: async () => false,
  });
  const metrics = registry.getMetricsAsArray().filter(({ name }) => name.startsWith('vessel_export_'));
  const rows = metrics.map(({ name, type, help, ...rest }) => {
    const { labelNames } = rest as { readonly labelNames?: readonly string[] };
    return [`\`${name}\``, `${type}`, labelNames!.map((label) => `\`${label}\``).join(', '), help];
  });
  return table(['metric', 'kind', 'labels', 'meaning'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
