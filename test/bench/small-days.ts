/** Vessel-days of a query service as folders of files, for contenders that read files. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addDays } from '../../src/core/model/index.ts';
import type { BenchServer } from './child.ts';
import { fileIn } from './prepared-day.ts';

export interface SmallDays {
  /** A folder for each vessel-day, with its readings and the metadata of its vessel. */
  readonly dir: string;
  readonly count: number;
  /** Of all together. */
  readonly rows: number;
  /** Of all vessels together. */
  readonly series: number;
}

interface FoundSeries {
  readonly id: string;
  readonly timeSeriesId: string;
}

/** Fetch some days of every vessel that the service has. */
export async function fetchSmallDays(
  server: BenchServer,
  dir: string,
  dates: readonly string[],
  signal: AbortSignal,
): Promise<SmallDays> {
  const ask = await openQueries(server, signal);
  const series: FoundSeries[] = JSON.parse(await ask('metadata/flat/*/*'));
  const byVessel = Map.groupBy(series, ({ id }) => id.split('/')[0]!);
  let rows = 0;
  for (const [vessel, ofVessel] of byVessel) {
    for (const date of dates) {
      const range = `from=${date}T00:00:00Z&to=${addDays(date, 1)}T00:00:00Z`;
      const readings = await ask(`measurements/flat/${vessel}/*?${range}&format=ndjson&output_domain=id`);
      const files = fileIn(join(dir, `${vessel}-${date}`));
      await mkdir(join(dir, `${vessel}-${date}`), { recursive: true });
      await writeFile(files.readings, readings);
      await writeFile(files.metadata, JSON.stringify(ofVessel));
      rows += readings.split('\n').length - 1;
    }
  }
  return { dir, count: byVessel.size * dates.length, rows, series: series.length };
}

/** Asks for paths below the base URL; the text of the answer. */
async function openQueries(server: BenchServer, signal: AbortSignal) {
  const { baseUrl, authUrl, clientId, clientSecret } = server;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const answer = await fetch(`${authUrl}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
    signal,
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'x-api-version': '2026-09-10' };
    const response = await fetch(`${baseUrl}/${path}`, { headers, signal });
    if (!response.ok) throw new Error(`${path}: got ${response.status} ${await response.text()}`);
    return response.text();
  };
}
