import type { SeriesMetadata, WireShape } from '../model/index.ts';
import { imoDigits, OTHER_FIELDS } from '../model/index.ts';
import { BodyScanner, throwErrorObject } from './body-scanner.ts';
import { type BodyWindow, INCOMPLETE, wholeWindow } from './body-window.ts';
import { skipSpace, stringValue } from './json-tokens.ts';
import { ObjectFields } from './object-fields.ts';
import { MemberSpans, readMembers } from './object-members.ts';

const OPEN_BRACE = 0x7b;
const NO_DOMAINS = '{}';

/** What has a column, or is kept in one. */
const ELEMENT_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'timeSeriesId', 'source', 'dataProvider', 'unitOfMeasure', 'scale', 'vessel', 'domains'],
]);
const VESSEL_FIELDS: ReadonlySet<string> = new Set(['name', 'imo']);
/** The same of versions before 2026-09-10. */
const KEYED_FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'source', 'scale', 'uom', 'mapsTo', 'rangeHigh', 'rangeLow'],
  ...['timeSeriesId', 'vesselImo', 'vesselName'],
]);

interface MetadataDecoder {
  /** Take the next bytes, cut anywhere. */
  push(chunk: Uint8Array): void;
  /** The body is whole. Throws DataError `body-truncated` when it is not. */
  end(): void;
}

/**
 * A decoder of a metadata answer as JSON: one element a series, in the body's order. In the keyed shape, series that
 * share an id are repeated keys, and all of them are kept. Fields that are absent or null become null; `domainsJson` is
 * the service's text, with the fields that have no other place. Memory: the longest element in the array shape; the whole body in the
 * keyed one, which is one object.
 *
 * Throws DataError: `malformed-json`, `body-truncated`, `missing-field` (`timeSeriesId` or `id`), `bad-field` (of
 * another type), `duplicate-key`, `invalid-utf8`, `record-too-long`; RetriableError: `error-in-body`.
 */
export function createMetadataDecoder(
  shape: WireShape,
  onSeries: (series: SeriesMetadata) => void,
): MetadataDecoder {
  if (shape === 'array') return elementDecoder(onSeries);
  const chunks: Uint8Array[] = [];
  return {
    push: (chunk) => chunks.push(chunk),
    end: () => decodeKeyed(Buffer.concat(chunks)).forEach(onSeries),
  };
}

function elementDecoder(onSeries: (series: SeriesMetadata) => void): MetadataDecoder {
  const fields = new ObjectFields();
  const scanner = new BodyScanner('json', {
    parseRecord(window, start) {
      const end = fields.read(window, start);
      if (end !== INCOMPLETE) onSeries(elementMetadata(fields));
      return end;
    },
  });
  return { push: (chunk) => scanner.push(chunk), end: () => scanner.end() };
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
    domainsJson: domainsJson(fields, 'domains', elementOthers(fields, vessel)),
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

function elementOthers(fields: ObjectFields, vessel: ObjectFields): string[] {
  const ofVessel = vessel.others(VESSEL_FIELDS);
  const others = fields.others(ELEMENT_FIELDS);
  return ofVessel.length === 0 ? others : [...others, `"vessel":{${ofVessel.join(',')}}`];
}

function domainsJson(fields: ObjectFields, name: string, others: readonly string[]): string {
  const text = fields.json(name);
  const json = text === undefined || text === 'null' ? NO_DOMAINS : text;
  if (others.length === 0) return json;
  const domains = json.slice(0, -1).trimEnd();
  return `${domains}${domains === '{' ? '' : ','}"${OTHER_FIELDS}":{${others.join(',')}}}`;
}

/** Null when there is none. What is no IMO number is given as it is: it concerns its vessel, and not the whole answer. */
function imoNumber(fields: ObjectFields, name: string): string | null {
  const json = fields.json(name);
  const text = json?.startsWith('"') === false && json !== 'null' ? json : fields.text(name);
  return text === null || text === '' ? null : imoDigits(text);
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
    domainsJson: domainsJson(fields, 'mapsTo', fields.others(KEYED_FIELDS)),
  };
}
