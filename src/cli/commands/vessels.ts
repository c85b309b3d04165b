/** `vessels`: what vessels there are. */
import type { AppOverrides } from '../../app.ts';
import { listLakeVessels } from '../../query/catalogue/from-lake.ts';
import { listServiceVessels } from '../../query/catalogue/from-service.ts';
import { formatVessels } from '../terminal/catalogue-view.ts';
import { roomOn, writeLines } from '../terminal/screen.ts';
import type { CatalogueCommandOptions } from './catalogue.ts';
import { askCatalogue, checkForms, isoOrNull, writeCsv } from './catalogue.ts';
import type { CommandContext } from './context.ts';
import { EXIT_OK } from './context.ts';
import { openOutput } from './output.ts';

/** Print them; the exit code. `overrides` are for tests. */
export async function vesselsCommand(
  context: CommandContext,
  options: CatalogueCommandOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  checkForms(options);
  const { stdout } = context;
  const output = openOutput(stdout, 'vessels', options);
  const { days } = options;
  const entries = await askCatalogue(context, options, overrides, {
    fromService: (ports, jobs) => listServiceVessels(ports, { days, jobs }),
    fromLake: listLakeVessels,
  });
  for (const { lastMicros, ...entry } of entries)
    output.add('vessels', { ...entry, jobs: [...entry.jobs], lastTime: isoOrNull(lastMicros) });
  output.end({});
  if (options.csv === true) {
    const head = ['vessel', 'name', 'series', 'last_time', 'readings', 'jobs'];
    const rows = entries.map(({ vessel, name, series, lastMicros, readings, jobs }) => [
      ...[vessel, name, series, isoOrNull(lastMicros), readings, jobs.join(' ')],
    ]);
    writeCsv(stdout, head, rows);
  } else if (output.isText) writeLines(stdout, `${formatVessels(entries, roomOn(stdout))}\n`);
  return EXIT_OK;
}
