/** Which licences dependencies may have, and which they do have. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** Needed to build and test only: neither in the package's dependencies nor in the image. */
  readonly isForDevelopment: boolean;
  /** SPDX expression of the installed package, or of the lock file where it is for other platforms. */
  readonly licence: string | undefined;
}

/** By SPDX id, with the reason. All of them let us ship under MIT where their notices stay in place, as npm leaves them. */
export const ALLOWED: Readonly<Record<string, string>> = {
  MIT: 'asks for its notice',
  ISC: 'as MIT, in fewer words',
  'BSD-3-Clause': 'asks for its notice, and not to advertise with names',
  '0BSD': 'asks for nothing',
  'BlueOak-1.0.0': 'asks for its text, and grants patents',
  'Apache-2.0': 'asks for its notices, and grants patents',
};

/** Of what we use and do not hand on. */
export const ALLOWED_FOR_DEVELOPMENT: Readonly<Record<string, string>> = {
  'MPL-2.0': 'copyleft for changes of its own files: lightningcss, a part of the test runner',
  Unlicense: 'public domain, which not every country knows: tweetnacl, below testcontainers',
};

/** What the lock file names, once by name and version. `root` is the folder of package-lock.json and node_modules. */
export function dependenciesOf(root: string): Dependency[] {
  const { packages }: { packages: Record<string, LockedPackage> } = readJson(join(root, 'package-lock.json'));
  const found = new Map<string, Dependency>();
  const ofPeers = pathsOfPeers(packages);
  for (const [path, locked] of Object.entries(packages)) {
    if (path === '') continue;
    const manifest = join(root, path, 'package.json');
    const { license, licenses } = existsSync(manifest) ? readJson<Licensed>(manifest) : locked;
    const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const key = `${name}@${locked.version}`;
    found.set(key, {
      name,
      version: locked.version,
      isForDevelopment:
        locked.dev === true && !ofPeers.has(path) && found.get(key)?.isForDevelopment !== false,
      licence: expressionOf(license ?? licenses),
    });
  }
  return [...found.values()];
}

/** Where those lie that the optional peers need, themselves among them: the image has them. */
function pathsOfPeers(packages: Readonly<Record<string, LockedPackage>>): ReadonlySet<string> {
  const paths = new Set<string>();
  const walk = (from: string, name: string): void => {
    // Node looks beside a package, and further out.
    let folder = from;
    let path = `${folder}/node_modules/${name}`.replace(/^\//, '');
    while (packages[path] === undefined && folder !== '') {
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1));
      path = `${folder}/node_modules/${name}`.replace(/^\//, '');
    }
    const found = packages[path];
    if (found === undefined || paths.has(path)) return;
    paths.add(path);
    for (const needed of Object.keys(found.dependencies ?? {})) walk(path, needed);
  };
  for (const peer of Object.keys(packages['']?.peerDependencies ?? {})) walk('', peer);
  return paths;
}

/** What is wrong with a dependency's licence, and what to do; undefined where it is allowed. */
export function licenceFault({ name, version, isForDevelopment, licence }: Dependency): string | undefined {
  const allowed = { ...ALLOWED, ...(isForDevelopment && ALLOWED_FOR_DEVELOPMENT) };
  if (licence !== undefined && isCovered(licence, new Set(Object.keys(allowed)))) return undefined;
  const use = isForDevelopment ? 'for development' : 'handed on to users';
  const found = licence === undefined ? 'names no licence' : `has the licence '${licence}'`;
  const next = 'take another package, or read the licence and add it there with the reason';
  return `${name} ${version} (${use}) ${found}, which test/supply/licences.ts does not allow: ${next}`;
}

/** Of a choice one id must be allowed, of a sum each. What is neither is for a person to read. */
function isCovered(licence: string, allowed: ReadonlySet<string>): boolean {
  const plain = licence.replace(/^\(([^()]*)\)$/, '$1');
  const choice = plain.split(' OR ');
  if (choice.length > 1) return choice.some((one) => allowed.has(one));
  return plain.split(' AND ').every((one) => allowed.has(one));
}

interface Licensed {
  readonly license?: unknown;
  /** As in old packages: a list to choose from. */
  readonly licenses?: unknown;
}

interface LockedPackage extends Licensed {
  readonly version: string;
  /** Where it is installed under another name. */
  readonly name?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function expressionOf(license: unknown): string | undefined {
  if (typeof license === 'string') return license;
  if (Array.isArray(license)) return license.map(expressionOf).join(' OR ') || undefined;
  return (license as { type?: string } | undefined)?.type;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8'));
}
