/** `convert`: a plain lake becomes a Delta table for each job, in place. */
import { CancelledError, usageError } from '../../core/errors.ts';
import { countOf, formatVesselDay, systemClock } from '../../core/model/index.ts';
import { thisProcess } from '../../core/process/process-id.ts';
import { type Conversion, convertLake } from '../../lake/upkeep/convert.ts';
import { formatTable } from '../terminal/format.ts';
import { writeText } from '../terminal/screen.ts';
import { type Command, EXIT_FAILED, EXIT_OK, type JsonOption, openLake, openOutput } from './command.ts';

type ConvertOptions = JsonOption & { readonly to?: string };

export const convertCommand: Command<[ConvertOptions]> = async (context, options, overrides = {}) => {
  const { clock = systemClock } = overrides;
  const given = options.to === undefined ? 'nothing' : `'${options.to}'`;
  if (options.to !== 'delta')
    throw usageError(`--to: got ${given}, expected delta, the only layout that a lake can be converted to`);
  const output = openOutput(context.stdout, 'convert', options);
  await using lake = await openLake(context);
  const { config, store, log } = lake;
  const { signal } = context;
  const say = (text: string) => writeText(context.stderr, `${text}\n`);
  const ports = { store, signal, clock, log, self: thisProcess(), say };
  const conversion = await convertLake(ports).catch((error) => {
    if (!signal.aborted) throw error;
    say('nothing is exported into the lake until the same command has ended');
    throw new CancelledError();
  });
  for (const job of conversion.jobs) output.add('jobs', job);
  for (const { day, message } of conversion.leftOut) output.add('days', { ...day, message });
  output.end({ converted: conversion.converted }, () => describe(conversion, config.settings.LAKE_URL));
  return conversion.leftOut.length > 0 ? EXIT_FAILED : EXIT_OK;
};

function describe({ converted, jobs, leftOut }: Conversion, url: string): string {
  if (!converted) return `${url} is a delta lake already: nothing to do\n`;
  const rows = jobs.map(({ job, vesselDays, sizeBytes }) => [job, String(vesselDays), String(sizeBytes)]);
  const table = rows.length === 0 ? '' : `${formatTable([['table', 'vessel-days', 'bytes'], ...rows])}\n\n`;
  const out = leftOut.map(({ day, message }) => `  ${formatVesselDay(day)}: ${message}\n`).join('');
  const days = countOf(leftOut.length, 'vessel-day');
  const left = `${days} could not join a table; 'run --force' exports them into it:\n${out}`;
  return `${table}${out === '' ? '' : left}${url} is a delta lake now. Set LAKE_LAYOUT=delta wherever it is set to plain\n`;
}
