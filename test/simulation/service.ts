/** The HTTP of the simulated query service: answers of the contract to what the real client sends, and every way to fail. */
import { RetriableError } from '../../src/core/errors.ts';
import { microsToIso, type TimeRange } from '../../src/core/model/index.ts';
import { type Answer, abortable, type Outgoing } from '../../src/source/fetch/exchange.ts';
import type { Transport } from '../../src/source/fetch/transport.ts';
import { isMeant } from '../helpers/made-up-source.ts';
import { type Draw, pick } from './random.ts';
import { BEGIN_MS, type Life, type Scheduler, shortDelay } from './scheduler.ts';
import { type Series, type Source, within } from './source.ts';

export const BASE_URL = 'https://api.example.com/fleet';
export const AUTH_URL = 'https://auth.example.com';
export const API = '2026-09-10';

/** Of a hundred requests, so many meet each fault. */
export interface ServiceFaults {
  readonly unreachable: number;
  /** 500, 503, 429, 404 of what is there. */
  readonly refused: number;
  /** The body breaks off. */
  readonly cut: number;
  /** Nothing comes for minutes. */
  readonly silent: number;
  /** One count is not what it should be. */
  readonly miscounted: number;
}

export const NO_SERVICE_FAULTS: ServiceFaults = {
  unreachable: 0,
  refused: 0,
  cut: 0,
  silent: 0,
  miscounted: 0,
};

interface ServiceWorld {
  readonly scheduler: Scheduler;
  readonly source: Source;
  readonly faults: () => ServiceFaults;
  /** A vessel of which nothing is answered. */
  readonly refused?: string | undefined;
  readonly draw: Draw;
  readonly onRequest: (life: Life, asked: string, status: number) => void;
}

const WINDOWS_MICROS: Readonly<Record<string, number>> = { '1h': 3_600_000_000, '1d': 86_400_000_000 };

export function transportOf(life: Life, world: ServiceWorld): Transport {
  const { scheduler, source, faults, draw, onRequest } = world;
  const wait = (delayMs: number) =>
    new Promise<void>((resolve) => scheduler.at(scheduler.nowMs + delayMs, resolve, life));

  async function answer(outgoing: Outgoing): Promise<Answer> {
    scheduler.onAsk(life);
    const { unreachable, refused, cut, silent, miscounted } = faults();
    const [throwOf, hereMs, backMs, keptOf] = [draw(100), shortDelay(draw), shortDelay(draw), draw(100)];
    const status = pick(draw, [500, 503, 429, 404]);
    await wait(hereMs);
    let below = unreachable;
    if (throwOf < below)
      throw new RetriableError('connection-failed', `${outgoing.what}: the connection failed`);
    below += silent;
    if (throwOf < below) await wait(200_000);
    below += refused;
    const isAsked = (text: string) => `${outgoing.target} ${outgoing.body ?? ''}`.includes(text);
    const ids = source.series.filter((one) => one.vessel === world.refused).map(({ id }) => id);
    const isOfRefused = world.refused !== undefined && [world.refused, ...ids].some(isAsked);
    const isRefused = (throwOf < below || isOfRefused) && outgoing.setting === 'QUERY_BASE_URL';
    const found = isRefused
      ? { status, text: '{"error":"in trouble"}' }
      : answerTo(outgoing, source, throwOf >= below && throwOf < below + miscounted ? 1 : 0);
    below += miscounted;
    onRequest(life, `${outgoing.method} ${outgoing.target} ${outgoing.body ?? ''}`, found.status);
    const isCut = throwOf >= below && throwOf < below + cut;
    const date = new Date(BEGIN_MS + scheduler.nowMs).toUTCString();
    await wait(backMs);
    const text = isCut ? found.text.slice(0, Math.floor((found.text.length * keptOf) / 100)) : found.text;
    return {
      status: found.status,
      headers: {
        ...{ 'api-version': API, 'content-type': 'application/json', date },
        'content-length': `${Buffer.byteLength(found.text)}`,
      },
      body: bodyOf(Buffer.from(text), isCut ? outgoing.what : undefined, () => wait(shortDelay(draw))),
    };
  }

  return {
    send: async (attempt) => {
      attempt.signal.throwIfAborted();
      return attempt.consume(await abortable(answer(attempt.outgoing), attempt.signal));
    },
    close: async () => {},
  };
}

/** In two halves, a moment apart. */
async function* bodyOf(bytes: Buffer, cutWhat: string | undefined, wait: () => Promise<void>) {
  const half = bytes.length >> 1;
  yield bytes.subarray(0, half);
  await wait();
  yield bytes.subarray(half);
  if (cutWhat !== undefined) throw new RetriableError('body-broken', `${cutWhat}: the body broke off`);
}

/** What a sound service says. */
export function answerTo(
  { target, body, setting }: Outgoing,
  source: { readonly series: readonly Series[] },
  miscount: number,
) {
  if (setting === 'QUERY_AUTH_URL')
    return { status: 200, text: '{"access_token":"t","expires_in":3600,"token_type":"Bearer"}' };
  const url = new URL(target, BASE_URL);
  const [, , family, ...levels] = url.pathname.split('/').map(decodeURIComponent);
  const expressions: string[] = body === undefined ? [levels.join('/')] : JSON.parse(body);
  const selected = source.series.filter(
    ({ id, vessel, name, isThere }) =>
      isThere &&
      expressions.some((one) =>
        isMeant(one, { timeSeriesId: id, imo: vessel.slice(3), names: { flat: name }, readings: 0 }),
      ),
  );
  if (selected.length === 0) return { status: 404, text: '{"error":"no such series"}' };
  const asked = url.searchParams;
  return { status: 200, text: answers[family as keyof typeof answers](selected, asked, miscount) };
}

const answers = {
  metadata: (selected: readonly Series[]) =>
    JSON.stringify(
      selected.map(({ id, vessel, name }) => {
        const domains = { flat: { id: name } };
        return { id: name, timeSeriesId: id, vessel: { imo: vessel.slice(3) }, domains };
      }),
    ),

  statistics(selected: readonly Series[], asked: URLSearchParams, miscount: number): string {
    const range = rangeOf(asked);
    const names = asked.get('aggregations')!.split(',');
    const stepMicros = WINDOWS_MICROS[asked.get('window') ?? ''] ?? Number.POSITIVE_INFINITY;
    const rows = selected.flatMap((one) => {
      const windows = Map.groupBy(within(one, range), ({ micros }) =>
        stepMicros === Number.POSITIVE_INFINITY ? range.fromMicros : micros - (micros % stepMicros),
      );
      return [...windows].map(([micros, readings]) => {
        const values = readings.map(({ value }) => Number(value));
        const all: Record<string, unknown> = {
          count: readings.length,
          ...{ min: Math.min(...values), max: Math.max(...values) },
          sum: values.reduce((sum, value) => sum + value, 0),
          ...{ first_val: values[0], last_val: values.at(-1) },
          first_time: microsToIso(readings[0]!.micros),
          last_time: microsToIso(readings.at(-1)!.micros),
        };
        const aggregations = Object.fromEntries(names.map((name) => [name, all[name]]));
        return { timestamp: microsToIso(micros), id: one.id, aggregations };
      });
    });
    const [first] = rows;
    if (first !== undefined && 'count' in first.aggregations)
      first.aggregations.count = (first.aggregations.count as number) + miscount;
    return JSON.stringify(rows);
  },

  measurements(selected: readonly Series[], asked: URLSearchParams): string {
    const range = rangeOf(asked);
    const rows = selected.flatMap((one) => within(one, range).map((reading) => ({ ...reading, id: one.id })));
    rows.sort((a, b) => a.micros - b.micros);
    return rows
      .map(
        ({ id, micros, value }) => `{"id":"${id}","timestamp":"${microsToIso(micros)}","value":${value}}\n`,
      )
      .join('');
  },
};

function rangeOf(asked: URLSearchParams): TimeRange {
  const [fromMicros, toMicros] = ['from', 'to'].map((name) => microsOf(asked.get(name)!));
  return { fromMicros: fromMicros!, toMicros: toMicros! };
}

/** Of `2026-01-05T00:00:00.000000Z`. */
function microsOf(text: string): number {
  return Date.parse(`${text.slice(0, 19)}Z`) * 1_000 + Number(text.slice(20, 26));
}

export function drawServiceFaults(draw: Draw): ServiceFaults {
  if (draw(3) === 0) return NO_SERVICE_FAULTS;
  const rate = () => (draw(2) === 0 ? 0 : 1 + draw(5));
  return {
    unreachable: rate(),
    refused: rate(),
    cut: rate(),
    silent: draw(3) === 0 ? 1 : 0,
    miscounted: rate(),
  };
}
