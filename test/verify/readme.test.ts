/** The auditor's page is a promise: it names every finding, and means by it what verify says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FINDINGS } from '../../src/verify/findings.ts';

test('the README lists every finding with its meaning, and no other', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const page = readme.slice(readme.indexOf('## For auditors'), readme.indexOf('## Tests and bench'));
  const listed = [...page.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm)].map(([, name, means]) => [name, means]);
  const findings = Object.entries(FINDINGS).map(([name, { means }]) => [name, means]);
  const fields = new Set(['proof', 'detail']);
  expect(listed.filter(([name]) => !fields.has(name!))).toEqual(findings);
});
