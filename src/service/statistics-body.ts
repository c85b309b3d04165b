/** Statistics in the shapes of the versions and in the experimental formats csv and html. */
import type { Aggregation, WireShape } from '../model/index.ts';
import { microsToIso } from '../model/index.ts';
import { ID_DOMAIN } from './domains.ts';
import type { Format } from './formats.ts';
import type { StatisticsResult } from './statistics.ts';

interface StatisticsLayout {
  readonly shape: WireShape;
  readonly format: Format;
  readonly aggregations: readonly Aggregation[];
}

/** Body of a statistics answer, in pieces. */
export async function* statisticsBody(
  batches: AsyncIterable<StatisticsResult[]>,
  layout: StatisticsLayout,
): AsyncGenerator<string> {
  if (layout.format === 'csv' || layout.format === 'html') return yield* tableBody(batches, layout);
  const lines = layout.format === 'ndjson';
  if (!lines) yield '[';
  let first = true;
  for await (const batch of batches) {
    const objects = batch.flatMap((result) =>
      layout.shape === 'keyed' ? keyedObjects(result) : [arrayElement(result)],
    );
    if (objects.length === 0) continue;
    if (lines) yield `${objects.join('\n')}\n`;
    else yield (first ? '' : ',') + objects.join(',');
    first = false;
  }
  if (!lines) yield ']';
}

/** Version 2026-09-10. */
function arrayElement(result: StatisticsResult): string {
  const values = result.values.map(([aggregation, value]) => `"${aggregation}":${value}`);
  return `{"timestamp":"${microsToIso(result.startMicros)}","id":${JSON.stringify(result.id)},"aggregations":{${values.join(',')}}}`;
}

/** Versions before: one object per aggregation, `<id>:avg` in the domain `id`, `<id>/Avg` elsewhere. */
function keyedObjects(result: StatisticsResult): string[] {
  return result.values.map(([aggregation, value]) => {
    const key =
      result.domain === ID_DOMAIN
        ? `${result.id}:${aggregation}`
        : `${result.id}/${aggregation.charAt(0).toUpperCase()}${aggregation.slice(1)}`;
    return `{"timestamp":"${microsToIso(result.startMicros)}",${JSON.stringify(key)}:${value}}`;
  });
}

/** A table with the columns timestamp, id and one per aggregation, whatever the version. */
async function* tableBody(
  batches: AsyncIterable<StatisticsResult[]>,
  { format, aggregations }: StatisticsLayout,
): AsyncGenerator<string> {
  const csv = format === 'csv';
  const row = (cells: readonly string[], tag: 'td' | 'th') =>
    csv
      ? `${cells.map(csvCell).join(',')}\r\n`
      : `<tr>${cells.map((cell) => `<${tag}>${htmlText(cell)}</${tag}>`).join('')}</tr>\n`;
  const header = row(['timestamp', 'id', ...aggregations], 'th');
  yield csv
    ? header
    : `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Statistics</title></head><body>\n<table>\n<thead>${header}</thead>\n<tbody>\n`;
  for await (const batch of batches) {
    yield batch
      .map(({ startMicros, id, values }) => {
        const known = new Map(values);
        const cells = aggregations.map((aggregation) => plainText(known.get(aggregation), csv));
        return row([microsToIso(startMicros), csv ? noFormula(id) : id, ...cells], 'td');
      })
      .join('');
  }
  if (!csv) yield '</tbody>\n</table>\n</body></html>\n';
}

/** JSON strings lose their quotes in a table; everything else is shown as it is. */
function plainText(json: string | undefined, csv: boolean): string {
  if (json === undefined) return '';
  if (!json.startsWith('"')) return json;
  const text = JSON.parse(json) as string;
  return csv ? noFormula(text) : text;
}

/** A text that a spreadsheet would take for a formula, with an apostrophe before it. Numbers are no texts. */
function noFormula(text: string): string {
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
}

function csvCell(text: string): string {
  return /[",\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => HTML_ENTITIES[letter]!);
}
