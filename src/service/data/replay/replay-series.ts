/** A line that describes a series, an object of metadata as version 2026-09-10 answers it, as a record. */
import { VESSEL_ID, vesselOf } from '../../../core/model/index.ts';
import { floatText } from '../../query/formats.ts';
import { uuidFrom } from '../made-up/random.ts';
import { isObject, numberText, rawNumber } from '../raw-json.ts';
import { namesInDomains, type SeriesRecord } from '../source.ts';
import { LineFault } from './replay-lines.ts';

type Fields = Readonly<Record<string, unknown>>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const KNOWN = ['id', 'timeSeriesId', 'source', 'dataProvider', 'unitOfMeasure', 'scale', 'vessel', 'domains'];

/** Throws LineFault. Without `domains` the id is one of `flat`, without `timeSeriesId` one is made of it: the same each time. */
export function seriesOfLine(fields: Fields): { readonly id: string; readonly record: SeriesRecord } {
  const id = requiredText(fields, 'id');
  const timeSeriesId = optionalText(fields, 'timeSeriesId') ?? uuidFrom(id, 0);
  if (!UUID.test(timeSeriesId)) throw new LineFault(`timeSeriesId '${timeSeriesId}'`, 'a UUID');
  const domains = optionalObject(fields, 'domains') ?? {
    flat: { id, shortName: id.slice(id.indexOf('/') + 1) },
  };
  const naming = namesInDomains(timeSeriesId, domains);
  const vessel = optionalObject(fields, 'vessel') ?? {};
  const imo = optionalText(vessel, 'imo');
  const maker = optionalObject(domains, 'maker') ?? {};
  const others = without(fields, KNOWN);
  const vesselOthers = without(vessel, ['name', 'imo']);
  const identifier = vesselIdentifier(imo, naming.names);
  if (Object.keys(vesselOthers).length > 0) others.vessel = vesselOthers;
  return {
    id,
    record: {
      timeSeriesId,
      vessel: identifier,
      ...naming,
      description: {
        source: optionalText(fields, 'source'),
        dataProvider: optionalText(fields, 'dataProvider'),
        unitOfMeasure: optionalText(fields, 'unitOfMeasure'),
        scale: optionalNumber(fields, 'scale'),
        vesselName: optionalText(vessel, 'name'),
        vesselImo: imo ?? identifier.slice('IMO'.length),
        name: optionalText(maker, 'name'),
        text: optionalText(maker, 'description'),
        rangeHigh: optionalNumber(maker, 'rangeHigh'),
        rangeLow: optionalNumber(maker, 'rangeLow'),
        domainsJson: JSON.stringify(withFloatRanges(domains)),
        ...(Object.keys(others).length > 0 && { others }),
      },
    },
  };
}

/** The contract has ranges as floating point, with a decimal part even when whole. */
function withFloatRanges(domains: Fields): Fields {
  const maker = optionalObject(domains, 'maker');
  if (maker === undefined) return domains;
  const ranges = ['rangeHigh', 'rangeLow'].flatMap((name) => {
    const text = numberText(maker[name]);
    return text === undefined || /[.eE]/.test(text) ? [] : [[name, rawNumber(floatText(Number(text)))]];
  });
  return { ...domains, maker: { ...maker, ...Object.fromEntries(ranges) } };
}

/** By `vessel.imo` or else by the first level of a name. */
function vesselIdentifier(imo: string | undefined, names: ReadonlyMap<string, string>): string {
  const expected = 'a vessel: seven digits as vessel.imo, or names such as IMO9321483/Roll';
  if (imo !== undefined) {
    const vessel = vesselOf(imo);
    if (vessel === undefined) throw new LineFault(`vessel.imo '${imo}'`, expected);
    return vessel;
  }
  const firstLevels = [...names.values()].map((name) => name.split('/')[0]!);
  const vessel = firstLevels.find((level) => VESSEL_ID.test(level));
  if (vessel === undefined)
    throw new LineFault('neither vessel.imo nor a name that begins with one', expected);
  return vessel;
}

function requiredText(fields: Fields, name: string): string {
  const text = optionalText(fields, name);
  if (text === undefined || text === '') throw new LineFault(`no ${name}`, `'${name}' as text`);
  return text;
}

/** A field as `read` takes it; undefined where it is absent or null. */
function optional<Value>(
  fields: Fields,
  name: string,
  kind: string,
  read: (value: unknown) => Value | undefined,
): Value | undefined {
  const value = fields[name] ?? undefined;
  const found = value === undefined ? undefined : read(value);
  if (value !== undefined && found === undefined)
    throw new LineFault(`${JSON.stringify(value)} as '${name}'`, `${kind}, or nothing`);
  return found;
}

const optionalText = (fields: Fields, name: string) =>
  optional(fields, name, 'text', (value) => (typeof value === 'string' ? value : undefined));

const optionalNumber = (fields: Fields, name: string) =>
  optional(fields, name, 'a number', (value) => {
    const number = Number(numberText(value) ?? Number.NaN);
    return Number.isFinite(number) ? number : undefined;
  });

const optionalObject = (fields: Fields, name: string) =>
  optional(fields, name, 'an object', (value) => (isObject(value) ? value : undefined));

function without(fields: Fields, known: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !known.includes(name)));
}
