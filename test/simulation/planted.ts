/** Defects that are planted one at a time, each in a process of its own, to see that the simulation finds them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MUTANTS } from './mutants.ts';

const MAX_SEEDS = 2_000;

/** Prints a line for each; false where one is not found. `name`: only that one. */
export async function findPlanted(name?: string): Promise<boolean> {
  let isFound = true;
  for (const mutant of MUTANTS) {
    if (name !== undefined && mutant.name !== name) continue;
    const seed = await seedThatFinds(mutant.name);
    const found = seed === undefined ? `not found in ${MAX_SEEDS} seeds` : `seed ${seed.padStart(4)}`;
    process.stdout.write(`${found}  ${mutant.name}\n`);
    isFound &&= seed !== undefined;
  }
  return isFound;
}

/** `<seed> <fault>`, of the first history that fails with the defect. */
async function seedThatFinds(name: string): Promise<string | undefined> {
  const child = new URL('planted-child.ts', import.meta.url).pathname;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [child, name, `${MAX_SEEDS}`], { maxBuffer: 1 << 24 });
  return stdout.trim() === '' ? undefined : stdout.trim().slice(0, 200);
}
