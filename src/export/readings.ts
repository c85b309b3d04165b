/** Time slices of raw readings → the row group builder, through each transport. */
import { DataError, RetriableError } from '../core/errors.ts';
import {
  type ColumnBatch,
  createSeriesDictionary,
  dayRange,
  firstRowFrom,
  MICROS_PER_HOUR,
  MICROS_PER_MILLI,
  type QueryRequest,
  type QueryResponse,
  type SeriesDictionary,
  type TimeRange,
} from '../core/model/index.ts';
import { createMeasurementRowGroups } from '../parquet/write/index.ts';
import { answerFault, UnknownSeriesError } from '../source/answer-faults.ts';
import { createReadingDecoder } from '../source/decode/reading-decoder.ts';
import type { RetryScope } from '../source/fetch/retry.ts';
import { askInSlices } from '../source/slices.ts';
import { type FetchOptions, openStages, type StagesOptions } from './assembly.ts';

/** A body in Parquet ends with its footer, so it is kept whole in memory; a million readings take 5 to 15 MB. */
const MAX_PARQUET_BYTES = 32 * 1024 * 1024;
/** Rows that a body in Parquet may have beyond twice the counted readings: some may have arrived since. */
const UNCOUNTED_ROWS = 250_000;

interface ReadingsOptions extends FetchOptions<ColumnBatch> {
  readonly dictionary: SeriesDictionary;
}

export function openReadings(options: StagesOptions) {
  const { context, series, ports } = options;
  const dictionary = createSeriesDictionary();
  const idOf = (id: string) => series.idOf.get(id) ?? null;
  const builder = createMeasurementRowGroups({ ...ports.sizes, dictionary, idOf, encoder: ports.encoder });
  // The smallest step between timestamps that the transport can represent.
  const stepMicros = context.job.transport === 'parquet' ? MICROS_PER_MILLI : 1;
  return openStages(options, builder, stepMicros, (fetching, slices) =>
    fetchReadings({ ...fetching, dictionary }, slices),
  );
}

/** Fetch time slices in order; one that fails is fetched in halves, down to 1 s. */
function fetchReadings(options: ReadingsOptions, slices: readonly TimeRange[]): Promise<void> {
  return askInSlices(options.context, slices, {
    family: 'measurements',
    async ask(slice, scope, cursor) {
      await fetchReadingsSlice(options, slice, scope, cursor);
      options.tally.slices++;
    },
  });
}

/** `cursor`: every reading of the slice before it was taken; it moves when an answer breaks off. */
async function fetchReadingsSlice(
  options: ReadingsOptions,
  slice: TimeRange,
  scope: RetryScope,
  cursor: { micros: number },
): Promise<void> {
  const { client, job, signal, stats } = options.context;
  const { expressions } = options.series;
  let progressed = false;
  const rangeLeft = () => ({ fromMicros: cursor.micros, toMicros: slice.toMicros });
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
        if (job.transport === 'parquet') await readParquet(options, response, sink, range);
        else await readText(options, response, sink);
      } catch (error) {
        if (error instanceof OwnTrouble) throw error;
        // Rows before the last timestamp are complete; those of the last timestamp may not be.
        const keepTo = Math.max(range.fromMicros, sink.lastMicros);
        options.onRows(-options.builder.dropFrom(keepTo));
        progressed = keepTo > range.fromMicros;
        cursor.micros = keepTo;
        throw answerFault(error, requestOf(range), response);
      }
    },
    { ...scope, signal, stats, progressed: () => progressed },
  );
  await exchange.catch((error) => {
    throw error instanceof OwnTrouble ? error.cause : error;
  });
}

/** Passes an error of the lake or the encoder through the client, which would otherwise retry the request. */
class OwnTrouble extends Error {}

async function sealReady(options: ReadingsOptions): Promise<void> {
  try {
    await options.sealReady();
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
      if (options.builder.sealableRows() > 0) await sealReady(options);
    }
  } catch (error) {
    if (error instanceof RetriableError) decoder.flush();
    throw error;
  }
  decoder.end();
  await sealReady(options);
}

async function readParquet(
  options: ReadingsOptions,
  response: QueryResponse,
  sink: ClippingSink,
  range: TimeRange,
) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_PARQUET_BYTES) {
      const text = `got a Parquet response of more than ${MAX_PARQUET_BYTES} bytes, which is the limit; a shorter time slice may be smaller, otherwise use transport: ndjson`;
      throw new DataError('page-too-large', text);
    }
    chunks.push(Buffer.from(chunk));
  }
  const body = Buffer.concat(chunks, bytes);
  chunks.length = 0;
  const onBatch = async (batch: ColumnBatch) => {
    sink.onBatch(batch);
    await sealReady(options);
  };
  const { decodeParquetReadings } = await import('../source/decode/parquet-readings.ts');
  const maxRows = maxRowsOf(options, range);
  await decodeParquetReadings(body, options.dictionary, onBatch, maxRows === undefined ? {} : { maxRows });
}

/** Maximum of rows in a Parquet answer for a range; undefined without counts. */
function maxRowsOf({ sourceCounts, context }: ReadingsOptions, range: TimeRange): number | undefined {
  if (sourceCounts === undefined) return undefined;
  const { fromMicros } = dayRange(context.day.date);
  const firstHour = Math.floor((range.fromMicros - fromMicros) / MICROS_PER_HOUR);
  let counted = 0;
  for (let hour = firstHour; fromMicros + hour * MICROS_PER_HOUR < range.toMicros; hour++)
    counted += sourceCounts.hourTotal(hour);
  return 2 * counted + UNCOUNTED_ROWS;
}

type ClippingSink = ReturnType<typeof createClippingSink>;

/** Appends rows that lie in `range` and counts the others: `to` may be inclusive. In time order these are one run. */
function createClippingSink(options: ReadingsOptions, range: TimeRange) {
  let lastMicros = Number.NEGATIVE_INFINITY;
  let checkedIds = 0;
  const { builder, dictionary, series } = options;
  return {
    /** Newest timestamp taken, or −∞. */
    get lastMicros(): number {
      return lastMicros;
    },
    onBatch(batch: ColumnBatch): void {
      for (; checkedIds < dictionary.ids.length; checkedIds++) {
        const id = dictionary.ids[checkedIds]!;
        if (!series.idOf.has(id)) throw new UnknownSeriesError(options.context.day, id);
      }
      const from = firstRowFrom(batch, range.fromMicros);
      const to = firstRowFrom(batch, range.toMicros);
      options.tally.clippedRows += batch.rows - (to - from);
      if (to === from) return;
      builder.append(batch, from, to);
      lastMicros = batch.timestampMicros[to - 1]!;
      options.onRows(to - from);
    },
  };
}
