import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type Job, silentLog } from '../../src/core/model/index.ts';
import { createSourceContext } from '../../src/source/context.ts';
import { createRequestStats } from '../../src/source/fetch/exchange.ts';
import { discoverVessels } from '../../src/source/metadata.ts';
import { describeSeries, resolveSeries } from '../../src/source/series.ts';
import { answer, clientOf, errorOf, startListener } from './fetch/listener.ts';
import { type FleetMetadata, fleetImo, sendFleet } from './fleet-metadata.ts';

const VESSEL = `IMO${fleetImo(3)}`;
const JOB: Job = {
  ...{ name: 'measurements', dataset: 'measurements', vessels: [VESSEL], select: ['flat/*/*'] },
  ...{ transport: 'ndjson', verify: 'exact' },
};
const SHAPES = [
  ['array', '2026-09-10'],
  ['keyed', '2025-10-31'],
] as const;

async function fleetListener(fleet: FleetMetadata) {
  const listener = await startListener();
  listener.always((response) => void sendFleet(response, fleet));
  return listener;
}

function discover(client: ReturnType<typeof clientOf>) {
  return discoverVessels({ client }, 'flat/*/*', new AbortController().signal, createRequestStats());
}

function contextOf(client: ReturnType<typeof clientOf>) {
  const day = { job: JOB.name, vessel: VESSEL, date: '2026-01-05' };
  return createSourceContext({ client, log: silentLog }, JOB, day, new AbortController().signal);
}

const resolve = (client: ReturnType<typeof clientOf>) => resolveSeries(contextOf(client));

// More bytes than were ever read, for 20,000 vessels, in the form that is scanned fastest: few, long elements.
test.each(SHAPES)(
  '280 MB of metadata name 20,000 vessels, in the memory of a few: %s',
  async (shape, version) => {
    const fleet = { shape, vessels: 20_000, seriesPerVessel: 1, descriptionBytes: 14_000 };
    const { origin } = await fleetListener(fleet);
    const child = `${import.meta.dirname}/discovery-child.ts`;
    const { stdout } = await promisify(execFile)(process.execPath, [child, origin, version]);
    const { vessels, maxRssBytes } = JSON.parse(stdout);
    expect(vessels).toBe(20_000);
    expect(maxRssBytes).toBeLessThan(200e6);
  },
);

test.each(SHAPES)('a vessel-day has the series of its vessel out of all: %s', async (shape, apiVersion) => {
  const listener = await fleetListener({ shape, vessels: 50, seriesPerVessel: 40 });
  const client = clientOf(listener, { apiVersion });
  const { metadata, idOf, expressions } = await describeSeries(contextOf(client));
  expect(metadata.map(({ flat }) => flat.id)).toEqual(
    Array.from({ length: 40 }, (_, series) => `${VESSEL}/ME Tag ${series}`),
  );
  expect(idOf.size).toBe(40);
  // The others were not meant, so the ids are asked for.
  expect(expressions.every((expression) => expression.startsWith('id/'))).toBe(true);
  // Who wants readings only is told the same of which series they are.
  expect(await resolve(client)).toEqual({ idOf, expressions, unmatched: [], others: [] });
});

test('what is wrong with a description hinders a snapshot, and not readings', async () => {
  const listener = await startListener();
  const odd = `{"id":"a","timeSeriesId":"u","unitOfMeasure":{},"vessel":{"imo":"${fleetImo(3)}"}}`;
  listener.always(answer(`[${odd}]`));
  const client = clientOf(listener);
  expect([...(await resolve(client)).idOf]).toEqual([['u', 'a']]);
  expect(await errorOf(describeSeries(contextOf(client)))).toMatchObject({ code: 'bad-field' });
});

test('more vessels than can be are refused, with how many may be', async () => {
  const error = await errorOf(
    discover(clientOf(await fleetListener({ shape: 'array', vessels: 50_001, seriesPerVessel: 1 }))),
  );
  expect(error).toMatchObject({
    name: 'DataError',
    code: 'too-many-vessels',
    message: expect.stringMatching(/flat\/\*\/\*: got more than 50000 different vessels, expected at most/),
  });
});

test('series that say more than is kept are refused, though each alone is allowed', async () => {
  const fleet = { shape: 'array', vessels: 4, seriesPerVessel: 70, descriptionBytes: 1_000_000 } as const;
  const error = await errorOf(resolve(clientOf(await fleetListener(fleet))));
  expect(error).toMatchObject({
    name: 'DataError',
    code: 'too-many-series',
    message: expect.stringMatching(/metadata .*got more than 67108864 bytes about 68 series that are kept/),
  });
});

test.each(SHAPES)('a series of more than 1 MiB is refused: %s', async (shape, apiVersion) => {
  const fleet = { shape, vessels: 1, seriesPerVessel: 1, descriptionBytes: 1_100_000 };
  const error = await errorOf(discover(clientOf(await fleetListener(fleet), { apiVersion })));
  expect(error).toMatchObject({
    name: 'DataError',
    code: 'record-too-long',
    message: expect.stringMatching(
      /record 1, byte 1 of the body: found .* bytes, expected at most 1048576 in a record/,
    ),
  });
});

test('what names no vessel is told, a thousand of them at most', async () => {
  const listener = await startListener();
  const named = (imo: string) => `{"id":"a","timeSeriesId":"u","vessel":{"imo":"${imo}"}}`;
  const odd = Array.from({ length: 3_000 }, (_, index) => named(`no ${index}`));
  listener.always(answer(`[${[...odd, named('9321483')].join(',')}]`));
  const { vessels, malformed } = await discover(clientOf(listener));
  expect(vessels).toEqual(['IMO9321483']);
  expect(malformed).toHaveLength(1_000);
});
