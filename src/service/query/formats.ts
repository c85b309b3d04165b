/** Formats: who may answer in what, how the client chooses, and their content types. */
import type { ColumnBatch, Family, Micros, WireShape } from '../../core/model/index.ts';
import { DOUBLE, jsonTextAt, LONG, MICROS_PER_SECOND, microsToIso } from '../../core/model/index.ts';
import { HttpError } from '../http/http-error.ts';

const decoder = new TextDecoder();
const FORMATS = ['json', 'ndjson', 'parquet', 'csv', 'html'] as const;
export type Format = (typeof FORMATS)[number];

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

/** What the Accept header can choose; csv and html are chosen by `format` alone. */
const ACCEPTED: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/vnd.apache.parquet', 'parquet'],
  ['application/*', 'json'],
  ['*/*', 'json'],
]);

/** Formats in which a family answers; metadata has ndjson from version 2026-09-10 on. */
export function formatsOf(family: Family, shape: WireShape): readonly Format[] {
  if (family === 'measurements') return ['json', 'ndjson', 'parquet'];
  if (family === 'statistics') return ['json', 'ndjson', 'csv', 'html'];
  return shape === 'array' ? ['json', 'ndjson'] : ['json'];
}

/** Format of the answer: the parameter `format`, else the Accept header, else json. Throws 406. */
export function chooseFormat(
  family: Family,
  shape: WireShape,
  parameter: string | undefined,
  accept: string | undefined,
): Format {
  const offered = formatsOf(family, shape);
  const byHeader = accept?.trim() ? byPreference(accept).map((type) => ACCEPTED.get(type)) : ['json'];
  const wanted = parameter === undefined ? byHeader : [parameter];
  for (const one of wanted) {
    const format = offered.find((known) => known === one);
    if (format !== undefined) return format;
  }
  const asked = parameter === undefined ? `Accept: ${accept}` : `format=${parameter}`;
  throw new HttpError(
    406,
    `${family} cannot be answered as ${asked.slice(0, 200)}; this version offers ${offered.join(', ')}`,
  );
}

/** Media types of an Accept header, best first; those with q=0 are left out. */
function byPreference(accept: string): string[] {
  const types = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = Number(parameters.find((one) => one.startsWith('q='))?.slice(2) ?? 1);
    return { type, quality: Number.isFinite(quality) ? quality : 0 };
  });
  const wanted = types.filter(({ quality }) => quality > 0).sort((a, b) => b.quality - a.quality);
  return wanted.map(({ type }) => type);
}

/** A JSON number that reads as floating point: `600` → `600.0`. NaN and infinities are `null`: with anything else no answer could be read. */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  if (!Number.isFinite(value)) return 'null';
  const text = String(value);
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${text}.0` : text;
}

export function readingText({ kinds, doubles, longs, words, jsonText }: ColumnBatch, row: number): string {
  const kind = kinds[row];
  if (kind === DOUBLE) return floatText(doubles[row]!);
  if (kind === LONG) return String(longs[row]);
  return decoder.decode(jsonTextAt(jsonText, words[2 * row]!));
}

/** Makes texts of times, most within the second of the one before, which halves the CPU of a large answer. */
export function createTimeText(): (micros: Micros) => string {
  let [second, text] = [Number.NaN, ''];
  return (micros) => {
    const at = Math.floor(micros / MICROS_PER_SECOND);
    if (at !== second) [second, text] = [at, microsToIso(at * MICROS_PER_SECOND).slice(0, -'000000Z'.length)];
    return `${text}${String(micros - at * MICROS_PER_SECOND).padStart(6, '0')}Z`;
  };
}
