/** The manifest of docs/kubernetes: its settings and jobs are right, and it asks for what the processes have. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { SECTIONS } from '../docs/tools/sections.ts';
import { loadConfig } from '../src/runtime/config/config.ts';
import { misspelledVariables } from '../src/runtime/config/environment.ts';
import { newTempFolder } from './helpers/temp.ts';

// biome-ignore lint/suspicious/noExplicitAny: whatever YAML says; what is not there fails a test.
type Manifest = any;

const text = await readFile(join(import.meta.dirname, '../docs/kubernetes/fleet.yaml'), 'utf8');
const manifests = parseAllDocuments(text).map((each): Manifest => {
  expect(each.errors).toEqual([]);
  return each.toJS();
});
const named = (kind: string, name: string) =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name)!;
const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
const SECRETS = '/run/secrets/vessel-export';

test('settings, secrets and jobs make a configuration without a fault', async () => {
  await using folder = await newTempFolder();
  const jobs = join(folder.path, 'jobs');
  await mkdir(jobs);
  for (const [name, job] of Object.entries<string>(named('ConfigMap', 'vessel-export-jobs').data!))
    await writeFile(join(jobs, name), job);
  for (const [name, secret] of Object.entries<string>(named('Secret', 'vessel-export').stringData!))
    await writeFile(join(folder.path, name), secret);
  const settings = named('ConfigMap', 'vessel-export-settings').data!;
  const env = Object.fromEntries(
    Object.entries<string>(settings).map(([name, value]) => [name, value.replace(SECRETS, folder.path)]),
  );
  const config = loadConfig({ ...env, JOBS_DIR: jobs });
  expect(misspelledVariables(env)).toEqual([]);
  expect(config.jobs.map(({ name }) => name)).toEqual(['measurements']);
  expect(config.settings.NOTIFY_URL).toBe('https://hooks.example.com/yours');
  const { maxReplicaCount } = named('ScaledObject', 'vessel-export-worker').spec;
  const { QUERY_MAX_CONCURRENCY, WORKER_CONCURRENCY } = config.settings;
  expect(maxReplicaCount).toBe((2 * QUERY_MAX_CONCURRENCY) / WORKER_CONCURRENCY);
});

test('containers run commands of ours, with probes of paths that they answer, and the files that they need', () => {
  const containers = deployments.map(({ spec }) => spec.template.spec.containers[0]!);
  expect(containers.map(({ args }) => args)).toEqual([['schedule'], ['worker']]);
  for (const { ports, livenessProbe, readinessProbe, volumeMounts } of containers) {
    expect(ports).toEqual([{ name: 'metrics', containerPort: 9464 }]);
    expect(livenessProbe.httpGet).toEqual({ path: '/health', port: 'metrics' });
    expect(readinessProbe.httpGet).toEqual({ path: '/ready', port: 'metrics' });
    expect(volumeMounts.map(({ mountPath }: Manifest) => mountPath)).toEqual(['/app/jobs', SECRETS]);
  }
});

test('nobody reaches a pod but who is named, and by no other port than the one there is', () => {
  const { podSelector, policyTypes, ingress } = named('NetworkPolicy', 'vessel-export').spec;
  for (const { spec } of deployments)
    expect(spec.template.metadata.labels).toMatchObject(podSelector.matchLabels);
  expect(policyTypes).toEqual(['Ingress']);
  expect(ingress).toHaveLength(1);
  const [{ from, ports }] = ingress as [(typeof ingress)[number]];
  // Without a name each of them would be everybody.
  expect(from.map(({ namespaceSelector }: Manifest) => Object.keys(namespaceSelector.matchLabels))).toEqual([
    ['kubernetes.io/metadata.name'],
    ['kubernetes.io/metadata.name'],
  ]);
  expect(ports).toEqual([{ protocol: 'TCP', port: 'metrics' }]);
});

test('the scaler asks for a metric that there is, and scales the workers', async () => {
  const { spec } = named('ScaledObject', 'vessel-export-worker');
  const [metric] = /vessel_export_\w+/.exec(spec.triggers[0]!.metadata.query)!;
  expect(await SECTIONS.metrics!()).toContain(`\`${metric}\``);
  expect(deployments.map(({ metadata }) => metadata.name)).toContain(spec.scaleTargetRef.name);
});

test('machines can be emptied one pod at a time, and workers are spread over them', () => {
  const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
  expect(budgets.map(({ spec }) => spec.maxUnavailable)).toEqual([1, 1]);
  const labels = (each: Manifest) => JSON.stringify(each.spec.selector);
  expect(budgets.map(labels).sort()).toEqual(deployments.map(labels).sort());
  const { template, selector } = named('Deployment', 'vessel-export-worker').spec;
  expect(template.spec.topologySpreadConstraints).toMatchObject([{ labelSelector: selector }]);
});
