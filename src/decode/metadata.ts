import { DataError } from '../errors.ts';
import type { SeriesMetadata, WireShape } from '../model/index.ts';
import { type BodyFormat, BodyScanner, throwErrorObject } from './body-scanner.ts';
import { type BodyWindow, INCOMPLETE, wholeWindow } from './body-window.ts';
import { skipSpace, stringValue } from './json-tokens.ts';
import { ObjectFields } from './object-fields.ts';
import { MemberSpans, readMembers } from './object-members.ts';

const OPEN_BRACE = 0x7b;
const NO_DOMAINS = '{}';

/**
 * Decode a whole metadata answer: one element a series, in the body's order. In the keyed shape, series that share an
 * id are repeated keys, and all of them are kept. Fields that are absent or null become null, unknown ones are
 * tolerated, `domainsJson` is the service's text.
 *
 * Throws DataError: `malformed-json`, `body-truncated`, `missing-field` (`timeSeriesId` or `id`), `bad-field` (of
 * another type), `duplicate-key`, `invalid-utf8`, `record-too-long`, `unsupported-format` (the keyed shape has no
 * NDJSON); RetriableError: `error-in-body`.
 */
export function decodeMetadata(
  body: Uint8Array,
  shape: WireShape,
  format: BodyFormat = 'json',
): SeriesMetadata[] {
  if (shape === 'array') return decodeElements(body, format);
  if (format === 'json') return decodeKeyed(body);
  throw new DataError(
    'unsupported-format',
    'metadata before version 2026-09-10 exists as JSON only, got ndjson; ask for format=json',
  );
}

export interface MetadataDecoder {
  /** Take the next bytes, cut anywhere. */
  push(chunk: Uint8Array): void;
  /** The body is whole. Throws DataError `body-truncated` when it is not. */
  end(): void;
}

/**
 * As `decodeMetadata`, one series at a time. Memory: the longest element in the array shape; the whole body in the
 * keyed one, which is one object.
 */
export function createMetadataDecoder(
  shape: WireShape,
  onSeries: (series: SeriesMetadata) => void,
): MetadataDecoder {
  if (shape === 'array') return elementDecoder('json', onSeries);
  const chunks: Uint8Array[] = [];
  return {
    push: (chunk) => chunks.push(chunk),
    end: () => decodeKeyed(Buffer.concat(chunks)).forEach(onSeries),
  };
}

function elementDecoder(format: BodyFormat, onSeries: (series: SeriesMetadata) => void): MetadataDecoder {
  const fields = new ObjectFields();
  const scanner = new BodyScanner(format, {
    parseRecord(window, start) {
      const end = fields.read(window, start);
      if (end !== INCOMPLETE) onSeries(elementMetadata(fields));
      return end;
    },
  });
  return { push: (chunk) => scanner.push(chunk), end: () => scanner.end() };
}

function decodeElements(body: Uint8Array, format: BodyFormat): SeriesMetadata[] {
  const series: SeriesMetadata[] = [];
  const decoder = elementDecoder(format, (one) => series.push(one));
  decoder.push(body);
  decoder.end();
  return series;
}

function elementMetadata(fields: ObjectFields): SeriesMetadata {
  const vessel = fields.object('vessel');
  const domains = fields.object('domains');
  const jsmea = domains.object('jsmea');
  const flat = domains.object('flat');
  return {
    id: fields.requiredText('id'),
    timeSeriesId: fields.requiredText('timeSeriesId'),
    source: fields.text('source'),
    dataProvider: fields.text('dataProvider'),
    unitOfMeasure: fields.text('unitOfMeasure'),
    scale: fields.number('scale'),
    vesselName: vessel.text('name'),
    vesselImo: imoNumber(vessel, 'imo'),
    jsmea: {
      id: jsmea.text('id'),
      namingRule: jsmea.text('namingRule'),
      category: jsmea.text('category'),
      subcategory: jsmea.text('subcategory'),
      content: jsmea.text('content'),
      item: jsmea.text('item'),
    },
    flat: { id: flat.text('id'), shortName: flat.text('shortName') },
    maker: makerMetadata(domains.object('maker')),
    domainsJson: domainsJson(fields, 'domains'),
  };
}

function makerMetadata(maker: ObjectFields): SeriesMetadata['maker'] {
  return {
    id: maker.text('id'),
    name: maker.text('name'),
    description: maker.text('description'),
    rangeHigh: maker.number('rangeHigh'),
    rangeLow: maker.number('rangeLow'),
  };
}

function domainsJson(fields: ObjectFields, name: string): string {
  const json = fields.json(name);
  return json === undefined || json === 'null' ? NO_DOMAINS : json;
}

/** IMO number without letters, of `9321483` or `IMO9321483`; null when there is none. */
function imoNumber(fields: ObjectFields, name: string): string | null {
  const text = fields.text(name);
  if (text === null || text === '') return null;
  const digits = /^(?:IMO)?\s*(\d+)$/i.exec(text)?.[1];
  if (digits === undefined) throw fields.fault(name, 'an IMO number');
  return digits;
}

function decodeKeyed(body: Uint8Array): SeriesMetadata[] {
  const window = wholeWindow(body);
  const members = new MemberSpans();
  readWholeObject(window, members);
  throwErrorObject(window, 0, members);
  const fields = new ObjectFields();
  const series: SeriesMetadata[] = [];
  for (let member = 0; member < members.count; member++) {
    window.recordNumber = member + 1;
    const start = members.valueStart(member);
    if (window.bytes[start] !== OPEN_BRACE)
      throw window.fault('bad-field', start, 'an object that describes a series');
    fields.read(window, start);
    series.push(keyedMetadata(stringValue(window, members.keyStart(member), members.keyEnd(member)), fields));
  }
  return series;
}

/** The one object that a body is made of. */
function readWholeObject(window: BodyWindow, members: MemberSpans): void {
  const start = skipSpace(window, 0);
  if (start < window.end && window.bytes[start] !== OPEN_BRACE)
    throw window.fault('malformed-json', start, "'{', an object keyed by id");
  const end = start < window.end ? readMembers(window, start, members) : INCOMPLETE;
  if (end === INCOMPLETE)
    throw window.faultFound('body-truncated', window.end, 'the end of the body', 'the rest of an object');
  const after = skipSpace(window, end);
  if (after < window.end) throw window.fault('malformed-json', after, 'nothing after the object');
}

function keyedMetadata(id: string, fields: ObjectFields): SeriesMetadata {
  const domains = fields.object('mapsTo');
  const jsmeaId = domains.text('jsmea');
  const flatId = domains.text('flat');
  // IMO<number>/<naming rule>/<category>/<sub-category>/<content>/<position>/<item>/<modifier>
  const levels = jsmeaId === null ? [] : jsmeaId.split('/');
  return {
    id,
    timeSeriesId: fields.requiredText('timeSeriesId'),
    source: fields.text('source'),
    dataProvider: null,
    unitOfMeasure: fields.text('uom'),
    scale: fields.number('scale'),
    vesselName: fields.text('vesselName'),
    vesselImo: imoNumber(fields, 'vesselImo'),
    jsmea: {
      id: jsmeaId,
      namingRule: levels[1] ?? null,
      category: levels[2] ?? null,
      subcategory: levels[3] ?? null,
      content: levels[4] ?? null,
      item: levels[6] ?? null,
    },
    flat: { id: flatId, shortName: /^IMO\d+\/(.*)$/is.exec(flatId ?? '')?.[1] ?? null },
    maker: {
      id: domains.text('maker'),
      name: fields.text('name'),
      description: fields.text('description'),
      rangeHigh: fields.number('rangeHigh'),
      rangeLow: fields.number('rangeLow'),
    },
    domainsJson: domainsJson(fields, 'mapsTo'),
  };
}
