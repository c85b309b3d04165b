/** Vitest on some files, against a server that the environment names. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

interface RanTests {
  readonly passed: number;
  readonly failed: readonly { readonly name: string; readonly message: string }[];
}

export async function runTests(
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  resultFile: string,
): Promise<RanTests> {
  const args = ['run', '--config', 'test/servers/vitest.config.ts', '--reporter=json'];
  const child = spawn(
    join(ROOT, 'node_modules/.bin/vitest'),
    [...args, `--outputFile=${resultFile}`, ...files],
    {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  await once(child, 'exit');
  const { testResults } = JSON.parse(await readFile(resultFile, 'utf8')) as {
    testResults: {
      name: string;
      message: string;
      assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
    }[];
  };
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages: [message = ''] }) => ({ name: fullName, message }));
  // A file that fails before its tests has none.
  for (const { name, message, assertionResults } of testResults)
    if (assertionResults.length === 0) failed.push({ name, message });
  return { passed: tests.filter(({ status }) => status === 'passed').length, failed };
}
