import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');

/** In a process of its own, what it has loaded once it listens. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import { startOperationsServer } from './src/runtime/monitoring/http-server.ts';
  import { silentLog } from './src/core/model/index.ts';
  const server = await startOperationsServer({
    host: '127.0.0.1', port: 0, isPortFixed: true, log: silentLog, unready: async () => undefined,
  });
  const answers = [];
  for (const path of ['/health', '/ready', '/nowhere']) {
    const response = await fetch(server.url + path);
    await response.text();
    answers.push(response.status);
  }
  await server.close();
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  console.log(JSON.stringify({ answers, loaded }));
`;

test('what listens does not load what compiles schemas', () => {
  const text = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], { cwd: root });
  const { answers, loaded } = JSON.parse(text.toString()) as { answers: number[]; loaded: string[] };
  expect(answers).toEqual([200, 200, 404]);
  expect(loaded.some((path) => path.includes('/fastify/'))).toBe(true);
  expect(loaded.filter((path) => /[/]ajv|json-stringify-compiler/.test(path))).toEqual([]);
});
