/** Metadata in the shapes of the versions. Written as text, so that ranges stay floating point. */
import type { WireShape } from '../model/index.ts';
import { floatText, jsonText } from './json-text.ts';
import type { SelectedSeries } from './selection.ts';

/** Series turned into text at once; a bound on memory, not on the answer. */
const SERIES_PER_CHUNK = 500;

/** Body of a metadata answer, in pieces. Keyed answers repeat keys where series share an id. */
export function* metadataBody(
  selected: readonly SelectedSeries[],
  shape: WireShape,
  format: 'json' | 'ndjson',
): Generator<string> {
  const write = shape === 'keyed' ? keyedMember : arrayElement;
  const [open, separator, close] =
    format === 'ndjson' ? ['', '\n', '\n'] : shape === 'keyed' ? ['{', ',', '}'] : ['[', ',', ']'];
  if (selected.length === 0) {
    if (format === 'json') yield open + close;
    return;
  }
  for (let at = 0; at < selected.length; at += SERIES_PER_CHUNK) {
    const texts = selected.slice(at, at + SERIES_PER_CHUNK).map(write);
    yield (at === 0 ? open : separator) + texts.join(separator);
  }
  yield close;
}

/** Version 2026-09-10: one element per series. */
function arrayElement({ record, id }: SelectedSeries): string {
  const { description } = record;
  return object([
    ['id', jsonText(id)],
    ['timeSeriesId', jsonText(record.timeSeriesId)],
    ['source', textOf(description.source)],
    ['dataProvider', textOf(description.dataProvider)],
    ['unitOfMeasure', textOf(description.unitOfMeasure)],
    ['scale', numberOf(description.scale)],
    [
      'vessel',
      object([
        ['name', textOf(description.vesselName)],
        ['imo', textOf(description.vesselImo)],
      ]),
    ],
    ['domains', description.domainsJson],
  ]);
}

/** Versions before: `"<id>":{…}`. */
function keyedMember({ record, id }: SelectedSeries): string {
  const { description } = record;
  const mapsTo = [...record.names].filter(([domain]) => domain !== 'id');
  mapsTo.push(['id', record.timeSeriesId]);
  return `${jsonText(id)}:${object([
    ['name', textOf(description.name)],
    ['description', textOf(description.text)],
    ['source', textOf(description.source)],
    ['scale', numberOf(description.scale)],
    ['uom', textOf(description.unitOfMeasure)],
    ['mapsTo', object(mapsTo.map(([domain, name]) => [domain, jsonText(name)]))],
    ['rangeHigh', description.rangeHigh === undefined ? undefined : floatText(description.rangeHigh)],
    ['rangeLow', description.rangeLow === undefined ? undefined : floatText(description.rangeLow)],
    ['timeSeriesId', jsonText(record.timeSeriesId)],
    ['vesselImo', textOf(description.vesselImo)],
    ['vesselName', textOf(description.vesselName)],
  ])}`;
}

function object(members: readonly (readonly [string, string | undefined])[]): string {
  const present = members.filter(([, value]) => value !== undefined);
  return `{${present.map(([key, value]) => `${jsonText(key)}:${value}`).join(',')}}`;
}

function textOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : jsonText(value);
}

function numberOf(value: number | undefined): string | undefined {
  return value === undefined ? undefined : jsonText(value);
}
