import type { WireShape } from '../../core/model/index.ts';
import { rawNumber } from '../data/raw-json.ts';
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
function arrayElement({ record: { timeSeriesId, description }, id }: SelectedSeries): string {
  const { source, dataProvider, unitOfMeasure, scale, vesselName, vesselImo, domainsJson } = description;
  const { vessel, ...others } = description.others ?? {};
  const before = JSON.stringify({
    ...{ id, timeSeriesId, source, dataProvider, unitOfMeasure, scale },
    vessel: { name: vesselName, imo: vesselImo, ...(vessel as object | undefined) },
  });
  const after = JSON.stringify(others).slice(1);
  return `${before.slice(0, -1)},"domains":${domainsJson}${after === '}' ? '' : ','}${after}`;
}

/** Versions before: `"<id>":{…}`. */
function keyedMember({ record: { timeSeriesId, names, description }, id }: SelectedSeries): string {
  const { name, text, source, scale, unitOfMeasure, rangeHigh, rangeLow, vesselImo, vesselName } =
    description;
  const { id: _, ...others } = Object.fromEntries(names);
  const member = {
    ...{ name, description: text, source, scale, uom: unitOfMeasure },
    mapsTo: { ...others, id: timeSeriesId },
    ...{ rangeHigh: floating(rangeHigh), rangeLow: floating(rangeLow), timeSeriesId, vesselImo, vesselName },
    ...description.others,
  };
  return `${JSON.stringify(id)}:${JSON.stringify(member)}`;
}

function floating(value: number | undefined): unknown {
  return value === undefined ? undefined : rawNumber(floatText(value));
}
