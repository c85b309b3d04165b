/**
 * Answers queries, a line of JSON each, by lines of JSON. A process of its own: the engine reads files below its current
 * folder only, and what a native library does to its process is no test's.
 */
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { asLine } from './lines.ts';

const { Session } = createRequire(process.argv[2]!)('chdb');
const session = new Session();
for await (const line of createInterface({ input: process.stdin })) {
  let answer: object;
  try {
    answer = { text: session.query(JSON.parse(line), 'JSONCompactEachRow') };
  } catch (error) {
    answer = { fault: String(error) };
  }
  process.stdout.write(`${asLine(answer)}\n`);
}
session.cleanup();
