/** Metadata in the shapes of the versions. Written as text, so that ranges stay floating point. */
import type { WireShape } from '../../core/model/index.ts';
import { type Format, floatText } from '../query/formats.ts';
import type { SelectedSeries } from '../query/selection.ts';
import type { Work } from '../turns.ts';

/** Series turned into text at once; a bound on memory, not on the answer. */
const SERIES_PER_CHUNK = 500;

/** Body of a metadata answer, in pieces. Keyed answers repeat keys where series share an id. */
export async function* metadataBody(
  selected: readonly SelectedSeries[],
  shape: WireShape,
  format: Format,
  work: Work,
): AsyncGenerator<string> {
  const write = shape === 'keyed' ? keyedMember : arrayElement;
  const [open, separator, close] =
    format === 'ndjson' ? ['', '\n', '\n'] : shape === 'keyed' ? ['{', ',', '}'] : ['[', ',', ']'];
  if (selected.length === 0) {
    if (format !== 'ndjson') yield open + close;
    return;
  }
  for (let at = 0; at < selected.length; at += SERIES_PER_CHUNK) {
    if (work.isDue()) await work.pause();
    const texts = selected.slice(at, at + SERIES_PER_CHUNK).map(write);
    yield (at === 0 ? open : separator) + texts.join(separator);
  }
  yield close;
}

/** Version 2026-09-10: one element per series. */
function arrayElement({ record, id }: SelectedSeries): string {
  const { description } = record;
  const { vessel, ...others } = description.others ?? {};
  return object([
    ['id', JSON.stringify(id)],
    ['timeSeriesId', JSON.stringify(record.timeSeriesId)],
    ['source', textOf(description.source)],
    ['dataProvider', textOf(description.dataProvider)],
    ['unitOfMeasure', textOf(description.unitOfMeasure)],
    ['scale', numberOf(description.scale)],
    [
      'vessel',
      object([
        ['name', textOf(description.vesselName)],
        ['imo', textOf(description.vesselImo)],
        ...membersOf(vessel ?? {}),
      ]),
    ],
    ['domains', description.domainsJson],
    ...membersOf(others),
  ]);
}

/** Versions before: `"<id>":{…}`. */
function keyedMember({ record, id }: SelectedSeries): string {
  const { description } = record;
  const mapsTo = [...record.names].filter(([domain]) => domain !== 'id');
  mapsTo.push(['id', record.timeSeriesId]);
  return `${JSON.stringify(id)}:${object([
    ['name', textOf(description.name)],
    ['description', textOf(description.text)],
    ['source', textOf(description.source)],
    ['scale', numberOf(description.scale)],
    ['uom', textOf(description.unitOfMeasure)],
    ['mapsTo', object(mapsTo.map(([domain, name]) => [domain, JSON.stringify(name)]))],
    ['rangeHigh', description.rangeHigh === undefined ? undefined : floatText(description.rangeHigh)],
    ['rangeLow', description.rangeLow === undefined ? undefined : floatText(description.rangeLow)],
    ['timeSeriesId', JSON.stringify(record.timeSeriesId)],
    ['vesselImo', textOf(description.vesselImo)],
    ['vesselName', textOf(description.vesselName)],
    ...membersOf(description.others ?? {}),
  ])}`;
}

function object(members: readonly (readonly [string, string | undefined])[]): string {
  const present = members.filter(([, value]) => value !== undefined);
  return `{${present.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}

function membersOf(fields: object): [string, string][] {
  return Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]);
}

function textOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

function numberOf(value: number | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
