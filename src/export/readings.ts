/** Pages of raw readings → the row group builder, through each transport. */
import { createReadingDecoder, decodeParquetReadings } from '../decode/index.ts';
import type { RowGroupBuilder } from '../encode/index.ts';
import { DataError, HttpStatusError, RetriableError, VesselExportError } from '../errors.ts';
import { TIMEOUT_CODES } from '../fetch/faults.ts';
import type {
  ColumnBatch,
  QueryRequest,
  QueryResponse,
  SeriesDictionary,
  TimeRange,
} from '../model/index.ts';
import { MICROS_PER_MILLI } from '../model/index.ts';
import { splitPage } from '../plan/pages.ts';
import { answerFault } from './answer-fault.ts';
import type { Assembly } from './assembly.ts';
import { UnknownSeriesError } from './clean-start.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';

/** A page of Parquet is decoded whole, so it is held whole. */
const MAX_PARQUET_PAGE_BYTES = 192 * 1024 * 1024;

export interface ReadingsOptions {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly builder: RowGroupBuilder<ColumnBatch>;
  readonly dictionary: SeriesDictionary;
  readonly assembly: Assembly;
  readonly tally: { pages: number; clippedRows: number };
  readonly onRows: (rows: number) => void;
}

/** Fetch pages in order; one that is refused as too long, or too slow, is fetched in halves down to 1 s. */
export async function fetchReadings(options: ReadingsOptions, pages: readonly TimeRange[]): Promise<void> {
  const queue = [...pages];
  // A length that was refused once is not asked for again on this day.
  let refusedMicros = Number.POSITIVE_INFINITY;
  for (let page = queue.shift(); page !== undefined; page = queue.shift()) {
    const shorter = lengthOf(page) >= refusedMicros ? splitPage(page) : undefined;
    if (shorter !== undefined) {
      queue.unshift(...shorter);
      continue;
    }
    const fetched = { fromMicros: page.fromMicros };
    try {
      await fetchPage(options, page, fetched);
      options.tally.pages++;
    } catch (error) {
      const rest = { fromMicros: fetched.fromMicros, toMicros: page.toMicros };
      const halves = mayFitInHalves(error) ? splitPage(rest) : undefined;
      if (halves === undefined) throw error;
      if (error instanceof HttpStatusError) refusedMicros = Math.min(refusedMicros, lengthOf(rest));
      queue.unshift(...halves);
    }
  }
}

function lengthOf(page: TimeRange): number {
  return page.toMicros - page.fromMicros;
}

const TOO_MUCH_AT_ONCE = new Set([...TIMEOUT_CODES, 'page-too-large']);

/** Is this the kind of failure that a shorter range avoids? */
export function mayFitInHalves(error: unknown): boolean {
  if (error instanceof HttpStatusError) return error.status === 400 || error.status === 413;
  return error instanceof VesselExportError && TOO_MUCH_AT_ONCE.has(error.code);
}

async function fetchPage(
  options: ReadingsOptions,
  page: TimeRange,
  fetched: { fromMicros: number },
): Promise<void> {
  const { client, job, signal, stats } = options.context;
  const { expressions } = options.series;
  let progressed = false;
  const rangeLeft = () => ({ fromMicros: fetched.fromMicros, toMicros: page.toMicros });
  const requestOf = (range: TimeRange): QueryRequest => {
    return { family: 'measurements', expressions, format: job.transport, range, outputDomain: 'id' };
  };
  const exchange = client.exchange(
    () => {
      progressed = false;
      return requestOf(rangeLeft());
    },
    async (response) => {
      const range = rangeLeft();
      const sink = createClippingSink(options, range);
      try {
        if (job.transport === 'parquet') await readParquet(options, response, sink);
        else await readText(options, response, sink);
      } catch (error) {
        if (error instanceof OwnTrouble) throw error;
        // Rows before the last timestamp seen are complete; that timestamp's own may not be.
        const keepTo = Math.max(range.fromMicros, sink.lastMicros);
        options.onRows(-options.builder.dropFrom(keepTo));
        progressed = keepTo > range.fromMicros;
        fetched.fromMicros = keepTo;
        throw answerFault(error, requestOf(range));
      }
    },
    { signal, stats, progressed: () => progressed },
  );
  await exchange.catch((error) => {
    throw error instanceof OwnTrouble ? error.cause : error;
  });
}

/** Carries an error of the lake or the encoder past the client, which would ask the service again. */
class OwnTrouble extends Error {}

async function sealReady(options: ReadingsOptions): Promise<void> {
  try {
    await options.assembly.sealReady();
  } catch (cause) {
    throw new OwnTrouble('a row group could not be sealed', { cause });
  }
}

async function readText(options: ReadingsOptions, response: QueryResponse, sink: ClippingSink) {
  const decoder = createReadingDecoder({
    format: options.context.job.transport === 'json' ? 'json' : 'ndjson',
    dictionary: options.dictionary,
    onBatch: sink.onBatch,
  });
  try {
    for await (const chunk of response.body) {
      decoder.push(chunk);
      await sealReady(options);
    }
  } catch (error) {
    if (error instanceof RetriableError) decoder.flush();
    throw error;
  }
  decoder.end();
  await sealReady(options);
}

async function readParquet(options: ReadingsOptions, response: QueryResponse, sink: ClippingSink) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_PARQUET_PAGE_BYTES) {
      throw new DataError(
        'page-too-large',
        `got a Parquet page of more than ${MAX_PARQUET_PAGE_BYTES} bytes`,
      );
    }
    chunks.push(chunk);
  }
  await decodeParquetReadings(Buffer.concat(chunks, bytes), options.dictionary, async (batch) => {
    sink.onBatch(batch);
    await sealReady(options);
  });
}

interface ClippingSink {
  readonly onBatch: (batch: ColumnBatch) => void;
  /** Newest timestamp taken, or −∞. */
  readonly lastMicros: number;
}

/**
 * Appends the rows of a batch that lie in `range`, and counts the others: whether `to` is inclusive is not
 * promised. Rows are in time order, so those inside are one run.
 */
function createClippingSink(options: ReadingsOptions, range: TimeRange): ClippingSink {
  let lastMicros = Number.NEGATIVE_INFINITY;
  let checkedIds = 0;
  const { builder, dictionary, series } = options;
  return {
    get lastMicros() {
      return lastMicros;
    },
    onBatch(batch) {
      for (; checkedIds < dictionary.ids.length; checkedIds++) {
        const id = dictionary.ids[checkedIds]!;
        if (!series.idOf.has(id)) throw new UnknownSeriesError(options.context.day, id);
      }
      const from = lowerBound(batch.timestampMicros, batch.rows, range.fromMicros);
      const to = lowerBound(batch.timestampMicros, batch.rows, range.toMicros);
      options.tally.clippedRows += batch.rows - (to - from);
      if (to === from) return;
      builder.append(batch, from, to);
      lastMicros = batch.timestampMicros[to - 1]!;
      options.onRows(to - from);
    },
  };
}

/** First of `rows` ascending timestamps that is not below `micros`. */
function lowerBound(timestamps: Float64Array, rows: number, micros: number): number {
  let low = 0;
  let high = rows;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timestamps[middle]! < micros) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The step from one timestamp to the next that a transport can tell apart. */
export function timestampStepMicros(transport: string): number {
  return transport === 'parquet' ? MICROS_PER_MILLI : 1;
}
