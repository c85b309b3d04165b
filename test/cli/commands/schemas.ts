/** The JSON Schemas in `schemas/`, made of what commands and job files are typed by. `npm run generate` writes them. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { lineKind, RESULTS, type ResultName, SCHEMA_VERSION } from '../../../src/cli/commands/results.ts';
import { JOB_FILE } from '../../../src/runtime/config/job-file.ts';

export const SCHEMAS_DIR = join(import.meta.dirname, '../../../schemas');
const WITH_LINES = ['run', 'reconcile', 'status', 'verify'] as const;

/** The text of every file, by its name. */
export function schemaFiles(): Map<string, string> {
  const files = new Map<string, string>();
  const add = (name: string, title: string, schema: z.ZodType) => {
    const text = JSON.stringify({ title, ...z.toJSONSchema(schema, { io: 'input' }) }, null, 2);
    files.set(`${name}.schema.json`, `${text}\n`);
  };
  add('job', 'A job of vessel-export: jobs/<name>.yaml', JOB_FILE);
  for (const name of Object.keys(RESULTS) as ResultName[])
    add(
      name,
      `vessel-export ${name.replace('-once', ' --once').replace('-list', ' list')} --json`,
      wholeOf(name),
    );
  for (const name of WITH_LINES)
    add(`${name}.ndjson`, `A line of vessel-export ${name} --ndjson`, lineOf(name));
  return files;
}

const schemaVersion = z.literal(SCHEMA_VERSION);

function wholeOf(name: ResultName): z.ZodType {
  const { summary, lists } = RESULTS[name];
  const arrays = Object.entries(lists).map(([list, item]) => [list, z.array(item)]);
  return z.strictObject({ schemaVersion, ...summary, ...Object.fromEntries(arrays) });
}

function lineOf(name: (typeof WITH_LINES)[number]): z.ZodType {
  const { summary, lists } = RESULTS[name];
  const items = Object.entries(lists).map(([list, item]) => {
    const kind = z.literal(lineKind(list));
    return z.strictObject({ kind, ...item.shape });
  });
  const last = z.strictObject({ kind: z.literal('summary'), schemaVersion, ...summary });
  return z.discriminatedUnion('kind', [last, ...items]);
}

if (import.meta.main) {
  await mkdir(SCHEMAS_DIR, { recursive: true });
  const files = schemaFiles();
  for (const name of await readdir(SCHEMAS_DIR)) if (!files.has(name)) await rm(join(SCHEMAS_DIR, name));
  for (const [name, text] of files) await writeFile(join(SCHEMAS_DIR, name), text);
}
