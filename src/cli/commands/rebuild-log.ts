/** `rebuild-log`: rebuilds the log of a table from the receipts. Shows what it would do; does it with `--yes`. */
import { usageError } from '../../core/errors.ts';
import { countOf, formatVesselDay, JOB_NAME, systemClock } from '../../core/model/index.ts';
import { thisProcess } from '../../core/process/process-id.ts';
import { type RebuiltLog, rebuildLog } from '../../lake/upkeep/rebuild-log.ts';
import { writeText } from '../terminal/screen.ts';
import type { Command, JsonOption } from './command.ts';
import { EXIT_FAILED, EXIT_OK, expectOwnLake, openLake, openOutput } from './command.ts';

/** Maximum of faults that are shown; there may be one per vessel-day. */
const SHOWN = 5;

type RebuildOptions = JsonOption & { readonly yes?: boolean };

export const rebuildLogCommand: Command<[string, RebuildOptions]> = async (
  context,
  job,
  options,
  overrides = {},
) => {
  const { clock = systemClock } = overrides;
  if (!JOB_NAME.test(job))
    throw usageError(`got '${job}', expected the name of a job: that of a folder of the lake`);
  const output = openOutput(context.stdout, 'rebuild-log', options);
  await using lake = await openLake(context);
  const { config, store, log } = lake;
  const say = (text: string) => writeText(context.stderr, `${text}\n`);
  const ports = { store, signal: context.signal, clock, self: thisProcess(), log, say };
  if (options.yes === true) await expectOwnLake(store, config.settings, job);
  const rebuilt = await rebuildLog(ports, job, options.yes === true);
  const { faults, leftOut, unread, ...summary } = rebuilt;
  for (const { day, message } of [...leftOut, ...unread]) output.add('days', { ...day, message });
  for (const fault of faults) output.add('faults', fault);
  output.end({ job, ...summary }, () => describe(job, rebuilt));
  return leftOut.length + unread.length > 0 ? EXIT_FAILED : EXIT_OK;
};

function describe(job: string, rebuilt: RebuiltLog): string {
  const { faults, vesselDays, version, isWritten, leftOut, unread } = rebuilt;
  const named =
    daysText(leftOut, "not in the table; 'run --force' exports them into it") +
    daysText(unread, 'with a receipt that cannot be read');
  const days = countOf(vesselDays, 'vessel-day');
  if (faults.length === 0)
    return `${job}: nothing is wrong with the log: ${days} in version ${version}, as their receipts say\n${named}`;
  const more = faults.length > SHOWN ? [`and ${faults.length - SHOWN} more`] : [];
  const found = [...faults.slice(0, SHOWN), ...more].map((fault) => `  ${fault}\n`).join('');
  const done = isWritten
    ? `${job}: ${days} in version ${version} now, as their receipts say`
    : `${job}: from version ${version} on the log would have ${days}, as their receipts say; --yes writes it`;
  return `found:\n${found}${done}\n${named}`;
}

function daysText(days: RebuiltLog['leftOut'], what: string): string {
  if (days.length === 0) return '';
  const lines = days.map(({ day, message }) => `  ${formatVesselDay(day)}: ${message}\n`).join('');
  return `${countOf(days.length, 'vessel-day')} ${what}:\n${lines}`;
}
