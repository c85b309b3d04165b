/**
 * Only receives the readings: `receive.ts`, in time slices as the exporter asks for them, from where QUERY_… say. Prints
 * one JSON line `{"bytesOut"}`.
 */
import { Agent } from 'undici';
import { dayRange, MICROS_PER_DAY, microsToIso } from '../../src/core/model/index.ts';
import { DATE, VESSEL } from './prepared-day.ts';

const SLICES = 6;
const SLICE_MICROS = MICROS_PER_DAY / SLICES;

const { QUERY_BASE_URL = '', QUERY_AUTH_URL = '', QUERY_CLIENT_ID, QUERY_CLIENT_SECRET } = process.env;
const { origin, pathname } = new URL(QUERY_BASE_URL);
const agent = new Agent();

async function fetchToken(): Promise<string> {
  const credentials = Buffer.from(`${QUERY_CLIENT_ID}:${QUERY_CLIENT_SECRET}`).toString('base64');
  const { statusCode, body } = await agent.request({
    origin: new URL(QUERY_AUTH_URL).origin,
    path: `${new URL(QUERY_AUTH_URL).pathname.replace(/\/$/, '')}/oauth2/token`,
    method: 'POST',
    headers: {
      authorization: `Basic ${credentials}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  });
  if (statusCode !== 200) throw new Error(`token: got ${statusCode}`);
  return ((await body.json()) as { access_token: string }).access_token;
}

const headers = { authorization: `Bearer ${await fetchToken()}` };
let bytesOut = 0;
for (let slice = 0; slice < SLICES; slice++) {
  const fromMicros = dayRange(DATE).fromMicros + slice * SLICE_MICROS;
  const range = `from=${microsToIso(fromMicros)}&to=${microsToIso(fromMicros + SLICE_MICROS)}`;
  const path = `${pathname}/measurements/flat/${VESSEL}/*?${range}&format=ndjson&output_domain=id`;
  const { statusCode, body } = await agent.request({ origin, path, method: 'GET', headers });
  if (statusCode !== 200) throw new Error(`${path}: got ${statusCode}`);
  for await (const chunk of body) bytesOut += chunk.length;
}
await agent.close();
process.stdout.write(`${JSON.stringify({ bytesOut })}\n`);
