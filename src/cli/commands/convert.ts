/** `convert`: a plain lake becomes a Delta table for each job, in place. */
import { CancelledError, ConfigError } from '../../core/errors.ts';
import { countOf } from '../../core/model/count-text.ts';
import type { Clock } from '../../core/model/index.ts';
import { formatVesselDay, systemClock } from '../../core/model/index.ts';
import { thisProcess } from '../../core/process/process-id.ts';
import type { Conversion } from '../../lake/upkeep/convert.ts';
import { convertLake } from '../../lake/upkeep/convert.ts';
import { loadLakeConfig } from '../../runtime/config/config.ts';
import { openStore } from '../../store/open-store.ts';
import { formatTable } from '../terminal/format.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';
import type { OutputOptions } from './output.ts';
import { openOutput } from './output.ts';

interface ConvertOptions extends Pick<OutputOptions, 'json'> {
  readonly to?: string;
}

/** Convert the lake; the exit code. `overrides` are for tests. */
export async function convertCommand(
  context: CommandContext,
  options: ConvertOptions,
  overrides: { readonly clock?: Clock } = {},
): Promise<number> {
  if (options.to !== 'delta')
    throw new ConfigError(
      'usage',
      `--to: got ${options.to === undefined ? 'nothing' : `'${options.to}'`}, expected delta, the only layout that a lake can be converted to`,
    );
  const output = openOutput(context.stdout, 'convert', options);
  const { settings } = loadLakeConfig(context.env);
  const { signal } = context;
  const store = await openStore(settings.LAKE_URL, context.env);
  let conversion: Conversion;
  try {
    conversion = await convertLake({
      store,
      signal,
      clock: overrides.clock ?? systemClock,
      log: commandLog(context, settings.LOG_LEVEL),
      self: thisProcess(),
      say: (text) => writeText(context.stderr, `${text}\n`),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    writeText(context.stderr, 'nothing is exported into the lake until the same command has ended\n');
    throw new CancelledError();
  } finally {
    await store.close();
  }
  for (const job of conversion.jobs) output.add('jobs', job);
  for (const { day, message } of conversion.leftOut) output.add('days', { ...day, message });
  output.end({ converted: conversion.converted });
  if (output.isText) writeText(context.stdout, describe(conversion, settings.LAKE_URL));
  return conversion.leftOut.length > 0 ? EXIT_FAILED : EXIT_OK;
}

function describe({ converted, jobs, leftOut }: Conversion, url: string): string {
  if (!converted) return `${url} is a delta lake already: nothing to do\n`;
  const rows = jobs.map(({ job, vesselDays, sizeBytes }) => [job, String(vesselDays), String(sizeBytes)]);
  const table = rows.length === 0 ? '' : `${formatTable([['table', 'vessel-days', 'bytes'], ...rows])}\n\n`;
  const out = leftOut.map(({ day, message }) => `  ${formatVesselDay(day)}: ${message}\n`).join('');
  const left =
    out === ''
      ? ''
      : `${countOf(leftOut.length, 'vessel-day')} could not join a table; 'run --force' exports them into it:\n${out}`;
  return `${table}${left}${url} is a delta lake now. Set LAKE_LAYOUT=delta where it is set to plain\n`;
}
