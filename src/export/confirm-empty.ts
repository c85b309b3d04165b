/** A day that counts zero is confirmed by asking for its readings: statistics that say nothing prove nothing. */
import { createReadingDecoder } from '../decode/index.ts';
import { createSeriesDictionary, dayRange, microsToIso } from '../model/index.ts';
import { CountsDisagreeError } from './clean-start.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';

/**
 * One request for the readings of the whole day, ended at the first one that lies in it. Throws
 * CountsDisagreeError naming that reading.
 */
export async function confirmEmpty(context: SourceContext, series: ResolvedSeries): Promise<void> {
  const { client, job, day, signal, stats } = context;
  const range = dayRange(day.date);
  const format = job.transport === 'json' ? 'json' : 'ndjson';
  const { expressions } = series;
  const found = await client.exchange(
    () => ({ family: 'measurements', expressions, format, range, outputDomain: 'id' }),
    async (response) => {
      let first: string | undefined;
      const dictionary = createSeriesDictionary();
      const decoder = createReadingDecoder({
        format,
        dictionary,
        batchRows: 1,
        onBatch: (batch) => {
          const micros = batch.timestampMicros[0]!;
          if (first !== undefined || micros < range.fromMicros || micros >= range.toMicros) return;
          const id = dictionary.ids[batch.seriesCodes[0]!]!;
          first = `series ${series.idOf.get(id) ?? id} has one at ${microsToIso(micros)}`;
        },
      });
      for await (const chunk of response.body) {
        decoder.push(chunk);
        if (first !== undefined) return first;
      }
      decoder.end();
      return first;
    },
    { signal, stats },
  );
  if (found !== undefined)
    throw new CountsDisagreeError(day, `no reading in the whole day counted by the source, but ${found}`);
}
