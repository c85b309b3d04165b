/** Measurements as JSON text, some rows at a time: memory is bounded by one piece. */
import type { TimeRange } from '../../core/model/index.ts';
import type { DataSource } from '../data/source.ts';
import { createTimeText, readingText } from '../query/formats.ts';
import type { SelectedSeries } from '../query/selection.ts';
import type { Work } from '../turns.ts';

/** Readings in one piece of text: some 200 kB. */
const ROWS_PER_PIECE = 2_048;

/** Objects `{"id":…,"timestamp":…,"value":…}`: lines of NDJSON, or the elements of an array. */
export async function* measurementsBody(
  source: DataSource,
  selected: readonly SelectedSeries[],
  range: TimeRange,
  format: 'json' | 'ndjson',
  work: Work,
): AsyncGenerator<string> {
  const heads = selected.map(({ id }) => `{"id":${JSON.stringify(id)},"timestamp":"`);
  const records = selected.map(({ record }) => record);
  const timeText = createTimeText();
  const [end, separator] = format === 'ndjson' ? ['}\n', ''] : ['}', ','];
  let before = '';
  if (format === 'json') yield '[';
  for await (const { batch } of source.read(records, range, { values: true, interleaved: true }, work))
    for (let from = 0; from < batch.rows; from += ROWS_PER_PIECE) {
      if (work.isDue()) await work.pause();
      const to = Math.min(batch.rows, from + ROWS_PER_PIECE);
      let text = '';
      for (let row = from; row < to; row++) {
        const time = timeText(batch.timestampMicros[row]!);
        text += `${before}${heads[batch.seriesCodes[row]!]}${time}","value":${readingText(batch, row)}${end}`;
        before = separator;
      }
      yield text;
    }
  if (format === 'json') yield ']';
}
