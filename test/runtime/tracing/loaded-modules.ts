/** Which modules a process loads, by import and by require. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes the address of every module into a file. */
const RECORDER = `
import { registerHooks } from 'node:module';
import { appendFileSync } from 'node:fs';
const load = (url, context, next) => {
  appendFileSync(process.env.LOADED_MODULES, url + '\\n');
  return next(url, context);
};
registerHooks({ load });
`;

/** The environment of a process whose modules are recorded in `folder`, and their addresses so far. */
export async function recordModules(folder: string) {
  const [recorder, list] = [join(folder, 'recorder.mjs'), join(folder, 'loaded')];
  await writeFile(recorder, RECORDER);
  return {
    env: { LOADED_MODULES: list, NODE_OPTIONS: `--import ${recorder}` },
    loaded: async () => (await readFile(list, 'utf8')).split('\n'),
  };
}
