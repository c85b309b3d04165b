/** Advice for codes that notes have. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { NEXT_STEPS, nextStep, OTHER_STEPS } from '../../../src/audit/status/next-steps.ts';

const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-02-28' };
const root = resolve(import.meta.dirname, '../../../src');

test('every code is one that is thrown, and has one advice', () => {
  const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== join('audit/status/next-steps.ts'))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const codes = NEXT_STEPS.flatMap((step) => step.codes);
  expect(codes.filter((code) => !texts.includes(`'${code}'`))).toEqual([]);
  expect(codes.filter((code, at) => codes.indexOf(code) !== at)).toEqual([]);
});

test('it names the vessel-day itself', () => {
  expect(nextStep({ state: 'refused', code: 'would-shrink' }, DAY)).toContain(
    "'vessel-export run measurements --from 2026-02-28 --to 2026-03-01 --vessel IMO9321483 --force --allow-shrink'",
  );
  for (const state of ['failed', 'refused', 'waiting'] as const) {
    const text = nextStep({ state, code: 'never-heard-of' }, DAY);
    expect(text.length).toBe(text.replace(/JOB|VESSEL|DATE/g, '').length);
    expect(text.slice(0, 5)).toBe(OTHER_STEPS[state].slice(0, 5));
  }
});
