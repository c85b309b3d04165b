/**
 * A file of readings, as `service --replay` takes it: lines of NDJSON, a series as metadata of version 2026-09-10 describe it, or a reading of a series
 * above it, by its `id` or time series id. All of it is held in memory: some 25 bytes a reading.
 */
import { ConfigError, cleanForeignText, messageOf } from '../../../core/errors.ts';
import { timestampMicros } from '../../../core/model/index.ts';
import { BatchBuilder } from '../batch-builder.ts';
import { isObject, numberText, parseJson } from '../raw-json.ts';
import type { SeriesRecord } from '../source.ts';
import { type FileLine, LineFault, linesOfFile } from './replay-lines.ts';
import { seriesOfLine } from './replay-series.ts';

/** About 250 MB of memory. */
const MAX_READINGS = 10_000_000;
/** Further ones are counted as "more". */
const FAULTS_SHOWN = 10;
/** What a service writes, and nearly every line is; anything else is read by the parser of JSON. */
const PLAIN_READING =
  /^\{"id":"([^"\\]+)","timestamp":"([^"\\]+)","value":(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)\}\r?$/;
const AMBIGUOUS = -1;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Series and readings in the order of the file; codes index the series. Throws ConfigError naming each bad line, and the signal's reason when it is aborted. */
export async function readReplayFile(path: string, signal?: AbortSignal) {
  const reader = createReader();
  const faults: string[] = [];
  let more = 0;
  try {
    for await (const lines of linesOfFile(path, signal))
      for (const line of lines) {
        const fault = faultOf(reader, line);
        if (fault === undefined) continue;
        if (faults.length < FAULTS_SHOWN) faults.push(`line ${line.number}: ${fault}`);
        else more++;
      }
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConfigError('replay-file', `--replay: cannot read '${path}': ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (more > 0) faults.push(`and ${more} more`);
  if (faults.length === 0 && reader.series.length === 0)
    faults.push('found no line, expected series and readings as docs/service.md describes them');
  if (faults.length > 0)
    throw new ConfigError('replay-file', `--replay: '${path}' cannot be served:\n  ${faults.join('\n  ')}`);
  return { series: reader.series, readings: reader.builder.batch };
}

function faultOf(reader: ReturnType<typeof createReader>, { text }: FileLine): string | undefined {
  try {
    if (typeof text !== 'string') throw text;
    reader.add(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    return `found ${cleanForeignText(error.found, [], 120)}, expected ${error.expected}`;
  }
}

/** Takes lines one after the other; `add` throws LineFault. */
function createReader() {
  const series: SeriesRecord[] = [];
  const builder = new BatchBuilder();
  /** By the ids that readings may have. */
  const codes = new Map<string, number>();

  function addSeries(fields: Readonly<Record<string, unknown>>): void {
    const { id, record } = seriesOfLine(fields);
    const { timeSeriesId } = record;
    if (codes.has(timeSeriesId))
      throw new LineFault(`the time series id '${timeSeriesId}' a second time`, 'one line for each series');
    // Series may share an id; then readings have to say which of them they mean by the other.
    codes.set(id, codes.has(id) ? AMBIGUOUS : series.length);
    codes.set(timeSeriesId, series.length);
    series.push(record);
  }

  function addOddReading({ id, timestamp, value }: Readonly<Record<string, unknown>>): void {
    if (typeof id !== 'string') throw new LineFault(`${JSON.stringify(id)} as 'id'`, 'the id of a series');
    if (typeof timestamp !== 'string')
      throw new LineFault(
        `${JSON.stringify(timestamp)} as 'timestamp'`,
        'text such as 2026-01-05T06:15:00.123456Z',
      );
    if (value === undefined) throw new LineFault("no 'value'", 'a number or other JSON as its value');
    addReading(id, timestamp, numberText(value), value);
  }

  /** `number`: the value as it was spelled, where it is one. */
  function addReading(id: string, timestamp: string, number: string | undefined, other?: unknown): void {
    const code = codes.get(id);
    if (code === undefined)
      throw new LineFault(`a reading of '${id}'`, 'a series that a line above describes');
    if (code === AMBIGUOUS)
      throw new LineFault(
        `a reading of '${id}', an id of several series`,
        'their time series ids, as output_domain=id answers them',
      );
    const micros = timestampMicros(timestamp);
    if (typeof micros !== 'number') throw new LineFault(`the timestamp '${timestamp}'`, micros.expected);
    if (builder.rows === MAX_READINGS)
      throw new LineFault(
        'another reading',
        `at most ${MAX_READINGS.toLocaleString('en')} of them: serve a lake (--data) instead`,
      );
    if (number === undefined) builder.appendJson(micros, code, JSON.stringify(other));
    else appendNumber(builder, micros, code, number);
  }

  function add(text: string): void {
    const [isPlain, id, timestamp, number] = PLAIN_READING.exec(text) ?? [];
    if (isPlain !== undefined) {
      addReading(id!, timestamp!, number);
      return;
    }
    const fields = fieldsOf(text);
    if ('timestamp' in fields || 'value' in fields) addOddReading(fields);
    else addSeries(fields);
  }

  return { series, builder, add };
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new LineFault(`'${text}'`, 'an object of JSON on one line');
  }
  if (!isObject(value)) throw new LineFault(`'${text}'`, 'an object');
  return value;
}

/** As the exporter reads it: digits alone are a long, a point or exponent makes a double, what fits neither stays text. */
function appendNumber(builder: BatchBuilder, micros: number, code: number, text: string): void {
  const value = Number(text);
  if (/[.eE]/.test(text)) {
    if (Number.isFinite(value)) builder.appendDouble(micros, code, value);
    else builder.appendJson(micros, code, text);
  } else if (Object.is(value, -0)) builder.appendDouble(micros, code, value);
  else if (Number.isSafeInteger(value)) builder.appendSmallLong(micros, code, value);
  else {
    const long = BigInt(text);
    if (long >= INT64_MIN && long <= INT64_MAX) builder.appendLong(micros, code, long);
    else builder.appendJson(micros, code, text);
  }
}
