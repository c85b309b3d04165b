/** Defects that are planted one at a time, each in a process of its own, to see that the simulation finds them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MUTANTS } from './mutants.ts';

const MAX_SEEDS = 2_000;

/**
 * Prints a line for each; false where one is not found, or one is that makes no difference. `name`: only that one, with the
 * shortest history that finds it.
 */
export async function findPlanted(name?: string): Promise<boolean> {
  let isRight = true;
  for (const mutant of MUTANTS) {
    if (name !== undefined && mutant.name !== name) continue;
    const [first = '', ...told] = (await findingOf(mutant.name, name !== undefined)).split('\n');
    const seed = first === '' ? undefined : first.slice(0, first.indexOf(' '));
    const none = mutant.equivalent === undefined ? `not found in ${MAX_SEEDS} seeds` : 'no difference';
    const found = seed === undefined ? none : `seed ${seed.padStart(4)}`;
    const why = mutant.equivalent === undefined ? '' : `: ${mutant.equivalent}`;
    process.stdout.write(`${found}  ${mutant.name}${why}\n${told.length > 0 ? `${told.join('\n')}\n` : ''}`);
    isRight &&= (seed === undefined) === (mutant.equivalent !== undefined);
  }
  return isRight;
}

/** `<seed> <fault>`, of the first history that fails with the defect; and that history, where it is to be told. */
async function findingOf(name: string, isTold: boolean): Promise<string> {
  const child = new URL('planted-child.ts', import.meta.url).pathname;
  const run = promisify(execFile);
  const args = [child, name, `${MAX_SEEDS}`, ...(isTold ? ['tell'] : [])];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 1 << 24 });
  return stdout.trim();
}
