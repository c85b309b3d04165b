/**
 * `node docs/tools/release-notes.ts v1.2.3 [--notes]`: holds a tag against package.json and CHANGELOG.md, which must name the
 * same version, and prints `version=1.2.3`, or the version's notes. Ends with 1 and says what differs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sectionOf } from './markdown.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The section of a version in a changelog. Throws Error that names what differs. */
export function releaseNotes(tag: string, packageVersion: string, changelog: string): string {
  const version = tag.replace(/^v/, '');
  if (tag !== `v${packageVersion}`)
    throw new Error(
      `the tag is '${tag}' and package.json has ${packageVersion}, expected v${packageVersion}`,
    );
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version}`));
  if (heading === undefined) throw new Error(`CHANGELOG.md has no '## ${version}', which the tag is for`);
  const notes = sectionOf(changelog, heading.replace('## ', '')).trim();
  if (notes === '') throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return notes;
}

function main([tag, ...options]: readonly string[]): void {
  const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { readonly version: string };
  const notes = releaseNotes(tag ?? '', version, read('CHANGELOG.md'));
  process.stdout.write(options.includes('--notes') ? `${notes}\n` : `version=${version}\n`);
}

if (import.meta.main) main(process.argv.slice(2));
