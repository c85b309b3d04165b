/** Statistics in the shapes of the versions and in the experimental formats csv and html. */
import { type Aggregation, microsToIso, type WireShape } from '../../core/model/index.ts';
import { ID_DOMAIN } from './domains.ts';
import { createTimeText, type Format } from './formats.ts';
import type { StatisticsResult } from './statistics.ts';

interface StatisticsLayout {
  readonly shape: WireShape;
  readonly format: Format;
  readonly aggregations: readonly Aggregation[];
}

export async function* statisticsBody(
  batches: AsyncIterable<StatisticsResult[]>,
  layout: StatisticsLayout,
): AsyncGenerator<string> {
  const { shape, format, aggregations } = layout;
  if (format === 'csv' || format === 'html') return yield* tableBody(batches, layout);
  const objectsOf = shape === 'keyed' ? keyedObjects : arrayObject;
  const timeText = createTimeText();
  let [before, after] = ['', '\n'];
  if (format === 'json') [before, after] = ['[', ''];
  for await (const batch of batches) {
    const objects = batch.flatMap((result) => objectsOf(result, timeText(result.start), aggregations));
    if (objects.length === 0) continue;
    yield before + objects.join(format === 'json' ? ',' : '\n') + after;
    if (format === 'json') before = ',';
  }
  if (format === 'json') yield before === '[' ? '[]' : ']';
}

/** Version 2026-09-10: one object a result. */
function arrayObject(
  { series, values }: StatisticsResult,
  start: string,
  aggregations: readonly Aggregation[],
): string {
  const members = aggregations.flatMap((aggregation) => {
    const value = values.value(aggregation);
    return value === undefined ? [] : [`"${aggregation}":${value}`];
  });
  return `{"timestamp":"${start}","id":${JSON.stringify(series.id)},"aggregations":{${members.join(',')}}}`;
}

/** Versions before: one object per aggregation, `<id>:avg` in the domain `id`, `<id>/Avg` elsewhere. */
function keyedObjects(
  { series: { id, domain }, values }: StatisticsResult,
  start: string,
  aggregations: readonly Aggregation[],
): string[] {
  return aggregations.flatMap((aggregation) => {
    const value = values.value(aggregation);
    if (value === undefined) return [];
    const key =
      domain === ID_DOMAIN
        ? `${id}:${aggregation}`
        : `${id}/${aggregation.charAt(0).toUpperCase()}${aggregation.slice(1)}`;
    return [`{"timestamp":"${start}",${JSON.stringify(key)}:${value}}`];
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
      .map(({ start, series: { id }, values }) => {
        const cells = aggregations.map((aggregation) => plainText(values.value(aggregation), csv));
        return row([microsToIso(start), csv ? noFormula(id) : id, ...cells], 'td');
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

const HTML_ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' } as const;

function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => HTML_ENTITIES[letter as keyof typeof HTML_ENTITIES]);
}
