/**
 * The loopback query service of a fleet whose every day is the same, in a process of its own: nothing is kept, every
 * answer is a function of the question, so that it costs little beside what it measures. Prints one JSON line
 * as `vessel-export service` does once it listens, and ends when its stdin does. Argument: how many vessels, if not as
 * many as the fleet has.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { datesBetween } from '../../src/core/model/index.ts';
import { vesselIds } from '../helpers/ledger.ts';
import { FLEET_VESSELS, seriesOf } from './fleet-lake.ts';
import { serveLoopback, tokenBody } from './loopback.ts';

const API_VERSION = '2026-09-10';
const FLEET = process.argv[2] === undefined ? FLEET_VESSELS : vesselIds(Number(process.argv[2]));

/** `IMO9100001` in `flat/IMO9100001/*`; all where the expression says `*`. */
function vesselsOf(expressions: readonly string[]): string[] {
  return expressions.flatMap((expression) => {
    const vessel = expression.split('/')[1]!;
    return vessel === '*' ? FLEET : [vessel];
  });
}

function* metadataOf(vessels: readonly string[]): Generator<string> {
  let comma = '[';
  for (const vessel of vessels) {
    const elements = seriesOf(vessel).map(({ timeSeriesId, id }) => {
      const shortName = id.slice(vessel.length + 1);
      const domains = {
        jsmea: {
          id: `${vessel}/jsmea_mac/MainEngine/Cylinder/ExhaustGas/Out/Temp/${shortName}`,
          namingRule: 'jsmea_mac',
          category: 'MainEngine',
          subcategory: 'Cylinder',
          content: 'ExhaustGas',
          item: 'Temp',
        },
        flat: { id, shortName },
        maker: { id: `${vessel}/AMS/${shortName}`, name: shortName, rangeHigh: 600.0, rangeLow: 0.0 },
      };
      const common = { source: 'AMS', dataProvider: 'Bench', unitOfMeasure: '°C', scale: 1 };
      const about = { vessel: { name: 'Bench', imo: vessel.slice(3) }, domains };
      return JSON.stringify({ id, timeSeriesId, ...common, ...about });
    });
    yield comma + elements.join(',');
    comma = ',';
  }
  yield ']';
}

function* statisticsOf(vessels: readonly string[], from: string, to: string): Generator<string> {
  let comma = '[';
  for (const date of datesBetween(from, to)) {
    for (const vessel of vessels) {
      const rows = seriesOf(vessel).map(({ timeSeriesId, count }) => {
        const [first, last] = [`${date}T00:00:00.000000Z`, `${date}T23:59:59.000000Z`];
        const values = `"count":${count},"first_time":"${first}","last_time":"${last}"`;
        return `{"timestamp":"${first}","id":"${timeSeriesId}","aggregations":{${values}}}`;
      });
      yield comma + rows.join(',');
      comma = ',';
    }
  }
  yield ']';
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const [, , family, ...levels] = decodeURIComponent(url.pathname).split('/');
  const body = await text(request);
  const send = (type: string, parts: Iterable<string>) => {
    response.writeHead(200, { 'content-type': type, 'api-version': API_VERSION });
    return pipeline(Readable.from(parts), response);
  };
  if (url.pathname === '/oauth2/token') return await send('application/json', [tokenBody()]);
  const expressions = levels[0] === 'query' ? (JSON.parse(body) as string[]) : [levels.join('/')];
  const vessels = vesselsOf(expressions);
  if (family === 'metadata') return await send('application/json', metadataOf(vessels));
  if (family !== 'statistics' || url.searchParams.get('window') !== '1d')
    throw new Error(`nothing is prepared for ${url.pathname}${url.search}`);
  const [from, to] = ['from', 'to'].map((name) => url.searchParams.get(name)!.slice(0, 10));
  await send('application/json', statisticsOf(vessels, from!, to!));
}

serveLoopback(answer);
