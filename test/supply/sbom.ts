/**
 * `npm run sbom`: what users get beside our own code, from the lock file alone, as CycloneDX JSON in sbom.cdx.json.
 * The same lock file gives the same bytes: there is no time and no random number in it.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dependenciesOf } from './licences.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: SbomComponent; readonly timestamp?: string };
  readonly components: readonly SbomComponent[];
  readonly dependencies: readonly SbomDependency[];
}

interface SbomDependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

interface SbomComponent {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/** Asks npm, which needs neither network nor node_modules for it. Throws with what npm says. */
export function makeSbom(): Sbom {
  const args = [
    ...'sbom --sbom-format=cyclonedx --sbom-type=application --package-lock-only --offline'.split(' '),
  ];
  const { status, stdout, stderr, error } = spawnSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`npm sbom failed (npm 10 or newer is needed): ${error ?? stderr}`);
  const { serialNumber: _, ...sbom } = JSON.parse(stdout);
  const { timestamp: __, ...metadata } = sbom.metadata;
  // npm calls it by the folder that it lies in.
  const { name } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const component = { ...metadata.component, name };
  // `--omit=dev` would leave out what is needed for development *too*, such as undici. What counts is the lock file.
  const shipped = dependenciesOf(ROOT).filter(({ isForDevelopment }) => !isForDevelopment);
  const refs = new Set([component['bom-ref'], ...shipped.map((one) => `${one.name}@${one.version}`)]);
  return {
    ...sbom,
    metadata: { ...metadata, component },
    components: sbom.components.filter((one: SbomComponent) => refs.has(`${one.name}@${one.version}`)),
    dependencies: sbom.dependencies
      .filter((one: SbomDependency) => refs.has(one.ref))
      .map(({ ref, dependsOn }: SbomDependency) => ({
        ref,
        dependsOn: dependsOn.filter((other) => refs.has(other)),
      })),
  };
}

if (import.meta.main) {
  const sbom = makeSbom();
  writeFileSync(join(ROOT, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
  process.stdout.write(`sbom.cdx.json: ${sbom.components.length} components\n`);
}
