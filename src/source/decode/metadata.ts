import { imoDigits, OTHER_FIELDS, type SeriesMetadata, type WireShape } from '../../core/model/index.ts';
import { ID_RULE, isSeriesId } from '../../core/model/series.ts';
import { type BodyDecoder, BodyScanner, type RecordParser } from './body-scanner.ts';
import { type BodyWindow, INCOMPLETE } from './body-window.ts';
import { colonEnd, keyEnd, stringValue, valueEnd } from './json-tokens.ts';
import { ObjectFields } from './object-fields.ts';

const QUOTE = 0x22;
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

/** Longest element: a thousand times what a series takes. */
const MAX_ELEMENT_BYTES = 1024 * 1024;

/** One series of an answer, of which only what is asked for is read; valid until the callback returns. */
export interface MetadataElement {
  readonly bytes: number;
  id(): string;
  timeSeriesId(): string;
  /** As `vesselImo` of SeriesMetadata. */
  vesselImo(): string | null;
  series(): SeriesMetadata;
}

/**
 * A decoder of a metadata answer as JSON, series by series. In the keyed shape repeated keys are all kept; `domainsJson` is the service's text,
 * with the fields that have no other place. Memory: the longest element, at most 1 MiB.
 *
 * Throws DataError: `malformed-json`, `body-truncated`, `missing-field`, `bad-id`, `bad-field`, `duplicate-key`, `invalid-utf8`,
 * `record-too-long`; RetriableError: `error-in-body`. Faults of fields are found by reading them.
 */
export function createMetadataDecoder(
  shape: WireShape,
  onElement: (element: MetadataElement) => void,
): BodyDecoder {
  const format = shape === 'array' ? 'json' : 'members';
  const parser = shape === 'array' ? elementParser(onElement) : memberParser(onElement);
  return new BodyScanner(format, parser, undefined, MAX_ELEMENT_BYTES);
}

function elementParser(onElement: (element: MetadataElement) => void): RecordParser {
  const fields = new ObjectFields();
  const element = {
    bytes: 0,
    id: () => fields.requiredText('id'),
    timeSeriesId: () => timeSeriesId(fields),
    vesselImo: () => imoNumber(fields.object('vessel'), 'imo'),
    series: () => elementMetadata(fields),
  };
  return {
    parseRecord(window, start) {
      const end = fields.read(window, start);
      if (end !== INCOMPLETE) onElement(Object.assign(element, { bytes: end - start }));
      return end;
    },
  };
}

function memberParser(onElement: (element: MetadataElement) => void): RecordParser {
  const fields = new ObjectFields();
  let id = () => '';
  const element = {
    bytes: 0,
    id: () => id(),
    timeSeriesId: () => timeSeriesId(fields),
    vesselImo: () => imoNumber(fields, 'vesselImo'),
    series: () => keyedMetadata(id(), fields),
  };
  return {
    parseRecord(window, start) {
      const afterKey = keyEnd(window, start);
      const valueStart = afterKey === INCOMPLETE ? INCOMPLETE : colonEnd(window, afterKey);
      if (valueStart === INCOMPLETE || valueStart >= window.end) return INCOMPLETE;
      if (window.bytes[valueStart] !== OPEN_BRACE) return readNoSeries(window, start, afterKey, valueStart);
      id = () => stringValue(window, start, afterKey);
      const end = fields.read(window, valueStart);
      if (end !== INCOMPLETE) onElement(Object.assign(element, { bytes: end - start }));
      return end;
    },
  };
}

/** Throws for a member that is no series: the service's `"error": …` is a RetriableError, wherever it stands. */
function readNoSeries(window: BodyWindow, start: number, afterKey: number, valueStart: number): number {
  const end = valueEnd(window, valueStart);
  if (end === INCOMPLETE) return INCOMPLETE;
  if (window.bytes[valueStart] === QUOTE && stringValue(window, start, afterKey) === 'error')
    throw window.errorInBody(start, stringValue(window, valueStart, end));
  throw window.fault('bad-field', valueStart, 'an object that describes a series');
}

function timeSeriesId(fields: ObjectFields): string {
  const id = fields.requiredText('timeSeriesId');
  if (isSeriesId(id)) return id;
  throw fields.fault('timeSeriesId', ID_RULE, 'bad-id');
}

function elementMetadata(fields: ObjectFields): SeriesMetadata {
  const vessel = fields.object('vessel');
  const domains = fields.object('domains');
  const jsmea = domains.object('jsmea');
  const maker = domains.object('maker');
  return {
    id: fields.requiredText('id'),
    timeSeriesId: timeSeriesId(fields),
    ...textsOf(fields, 'source', 'dataProvider', 'unitOfMeasure'),
    scale: fields.number('scale'),
    vesselName: vessel.text('name'),
    vesselImo: imoNumber(vessel, 'imo'),
    jsmea: textsOf(jsmea, 'id', 'namingRule', 'category', 'subcategory', 'content', 'item'),
    flat: textsOf(domains.object('flat'), 'id', 'shortName'),
    maker: { ...textsOf(maker, 'id', 'name', 'description'), ...rangeOf(maker) },
    domainsJson: domainsJson(fields, 'domains', elementOthers(fields, vessel)),
  };
}

function textsOf<N extends string>(fields: ObjectFields, ...names: readonly N[]) {
  return Object.fromEntries(names.map((name) => [name, fields.text(name)])) as Record<N, string | null>;
}

function rangeOf(fields: ObjectFields): Pick<SeriesMetadata['maker'], 'rangeHigh' | 'rangeLow'> {
  return { rangeHigh: fields.number('rangeHigh'), rangeLow: fields.number('rangeLow') };
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

function keyedMetadata(id: string, fields: ObjectFields): SeriesMetadata {
  const domains = fields.object('mapsTo');
  const jsmeaId = domains.text('jsmea');
  const flatId = domains.text('flat');
  // IMO<number>/<naming rule>/<category>/<sub-category>/<content>/<position>/<item>/<modifier>
  const [, namingRule = null, category = null, subcategory = null, content = null, , item = null] =
    jsmeaId?.split('/') ?? [];
  return {
    id,
    timeSeriesId: timeSeriesId(fields),
    source: fields.text('source'),
    dataProvider: null,
    unitOfMeasure: fields.text('uom'),
    scale: fields.number('scale'),
    vesselName: fields.text('vesselName'),
    vesselImo: imoNumber(fields, 'vesselImo'),
    jsmea: { id: jsmeaId, namingRule, category, subcategory, content, item },
    flat: { id: flatId, shortName: /^IMO\d+\/(.*)$/is.exec(flatId ?? '')?.[1] ?? null },
    maker: { id: domains.text('maker'), ...textsOf(fields, 'name', 'description'), ...rangeOf(fields) },
    domainsJson: domainsJson(fields, 'mapsTo', fields.others(KEYED_FIELDS)),
  };
}

/** Domain → the name that a series has in it, of every domain that has an `id`. Versions before 2026-09-10 map a domain to the name. */
export function namesByDomain(domainsJson: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [domain, entry] of Object.entries(parsed(domainsJson))) {
    const id = typeof entry === 'object' && entry !== null ? (entry as { id?: unknown }).id : entry;
    if (domain !== OTHER_FIELDS && domain !== 'id' && typeof id === 'string') names.set(domain, id);
  }
  return names;
}

/** A lake may have been written by anybody: what is no object has no names. */
function parsed(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
