/** The alert rules, the dashboard and the runbook of docs/monitoring agree with each other and with the metrics. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { slug } from '../../../docs/tools/markdown.ts';
import { SECTIONS } from '../../../docs/tools/sections.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const DOCS = join(import.meta.dirname, '../../../docs');
const RULES = join(DOCS, 'monitoring/alerts.yaml');
const TESTS = join(DOCS, 'monitoring/alerts.test.yaml');

// biome-ignore lint/suspicious/noExplicitAny: whatever YAML and JSON say; what is not there fails a test.
type Json = any;

const rules: readonly Json[] = parse(readFileSync(RULES, 'utf8')).groups[0].rules;
const ruleTests: readonly Json[] = parse(readFileSync(TESTS, 'utf8')).tests;
const panels: readonly Json[] = JSON.parse(
  readFileSync(join(DOCS, 'monitoring/dashboard.json'), 'utf8'),
).panels;
const exprs = panels.flatMap(({ targets = [] }) => targets.map(({ expr }: Json) => expr));
const runbook = readFileSync(join(DOCS, 'monitoring-runbook.md'), 'utf8');

/** Name → its labels, of every metric of ours, by what a process shows. */
const metrics = new Map<string, readonly string[]>();
for (const [, name, kind, text] of (await SECTIONS.metrics!()).matchAll(
  /^\| `(\w+)` \| (\w+) \| (.*?) \|/gm,
)) {
  const labels = [...text!.matchAll(/`(\w+)`/g)].map((match) => match[1]!);
  if (kind === 'histogram')
    for (const end of ['_bucket', '_sum', '_count']) metrics.set(name! + end, [...labels, 'le']);
  else metrics.set(name!, labels);
}
/** Labels that Prometheus adds, or moves. */
const SCRAPED = ['instance', 'job', 'exported_job'];

/** Metrics of an expression with the labels that it selects by. */
function usesOf(expr: string): [name: string, labels: string[]][] {
  return [...expr.matchAll(/\b(vessel_export_\w+)(?:\{([^}]*)\})?/g)].map(([, name, matchers = '']) => [
    name!,
    [...matchers.matchAll(/(\w+)\s*[=!]/g)].map((match) => match[1]!),
  ]);
}

test('alerts and dashboard use metrics and labels that exist, and every metric is in an alert or on the dashboard', () => {
  expect(metrics.size).toBeGreaterThan(20);
  const uses = [...rules.map(({ expr }) => expr), ...exprs].flatMap(usesOf);
  expect(uses.length).toBeGreaterThan(30);
  const wrong = uses.filter(
    ([name, labels]) =>
      !metrics.has(name) || labels.some((label) => ![...metrics.get(name)!, ...SCRAPED].includes(label)),
  );
  expect(wrong).toEqual([]);
  const shown = new Set(uses.map(([name]) => name.replace(/_(bucket|sum|count)$/, '')));
  const names = new Set([...metrics.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  expect([...names].filter((name) => !shown.has(name))).toEqual([]);
});

test('labels by which alerts group are those of the metric, or of the scrape', () => {
  const grouped = rules.flatMap(({ alert, expr }) => {
    const labels = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap((match) => match[1]!.split(/,\s*/));
    const known = new Set([...SCRAPED, ...usesOf(expr).flatMap(([name]) => metrics.get(name) ?? [])]);
    return labels.filter((label) => !known.has(label)).map((label) => `${alert}: ${label}`);
  });
  expect(grouped).toEqual([]);
});

test('every alert is tested firing and quiet', () => {
  const checks = ruleTests.flatMap((each) => each.alert_rule_test);
  const lacking = rules.filter(({ alert }) => {
    const own = checks.filter(({ alertname }) => alertname === alert);
    const fires = own.filter(({ exp_alerts: alerts = [] }) => alerts.length > 0);
    return fires.length === 0 || fires.length === own.length;
  });
  // What is absent is alerted on while it is.
  expect(lacking.map(({ alert }) => alert)).toEqual([]);
});

test('every alert has its place in the runbook, which says what to look at and what to do, and none has more', () => {
  const sections = new Map(
    runbook
      .split(/^## /m)
      .slice(1)
      .map((text) => [text.slice(0, text.indexOf('\n')), text]),
  );
  const named = [...sections.keys()].filter((title) => title.startsWith('VesselExport'));
  expect(named.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook).toBe(`docs/monitoring-runbook.md#${slug(alert)}`);
    for (const part of ['**Meaning.**', '**Check.**', '**Do.**'])
      expect(sections.get(alert), alert).toContain(part);
  }
});

test('panels of the dashboard have ids and titles of their own', () => {
  for (const key of ['id', 'title'] as const)
    expect(new Set(panels.map((panel) => panel[key])).size).toBe(panels.length);
});

/** Is there a promtool? Says so loudly when not; in CI that is an error. */
function canRunPromtool(): boolean {
  if (spawnSync('promtool', ['--version']).status === 0) return true;
  const text = 'promtool is not on PATH: bash .ci/install-promtool';
  if (process.env.CI) throw new Error(text);
  process.stderr.write(`\n*** The alert rules are not checked: ${text} ***\n\n`);
  return false;
}

describe.skipIf(!canRunPromtool())('promtool', () => {
  const promtool = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };

  test('finds the rules right, and their tests hold', () => {
    expect(promtool('check', 'rules', RULES)).toMatchObject({ status: 0 });
    expect(promtool('test', 'rules', TESTS)).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });

  test('can parse every expression of the dashboard', async () => {
    await using folder = await newTempFolder();
    // What Grafana fills in.
    const filled = exprs.map((expr) =>
      expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    );
    const recorded = filled.map((expr, at) => ({ record: `expr:${at}`, expr }));
    const file = join(folder.path, 'rules.yaml');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
    expect(promtool('check', 'rules', file)).toMatchObject({ status: 0 });
  });
});
