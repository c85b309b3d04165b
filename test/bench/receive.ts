/**
 * Only receives the readings: `receive.ts BASE_URL`, in pages as the exporter asks for them. Prints one JSON line
 * `{"bytesOut"}`.
 */
import { Agent } from 'undici';
import { dayRange, microsToIso } from '../../src/model/index.ts';
import { cutEvenly } from '../../src/plan/pages.ts';
import { DATE, VESSEL } from './prepared-day.ts';

const PAGES = 6;

const [baseUrl] = process.argv.slice(2);
if (baseUrl === undefined) throw new Error('usage: receive.ts BASE_URL');
const { origin, pathname } = new URL(baseUrl);
const agent = new Agent();
let bytesOut = 0;
for (const { fromMicros, toMicros } of cutEvenly(dayRange(DATE), PAGES)) {
  const range = `from=${microsToIso(fromMicros)}&to=${microsToIso(toMicros)}`;
  const path = `${pathname}/measurements/flat/${VESSEL}/*?${range}&format=ndjson&output_domain=id`;
  const { statusCode, body } = await agent.request({ origin, path, method: 'GET' });
  if (statusCode !== 200) throw new Error(`${path}: got ${statusCode}`);
  for await (const chunk of body) bytesOut += chunk.length;
}
await agent.close();
process.stdout.write(`${JSON.stringify({ bytesOut })}\n`);
