/** What `wide` is to be, as the options of `views` and `sql` say it. */
import { ConfigError } from '../../core/errors.ts';
import { VESSEL_ID } from '../../core/model/index.ts';
import type { WideAggregate, WideOptions } from '../../query/views/wide.ts';
import { MAX_HELD_WINDOWS, WIDE_AGGREGATES } from '../../query/views/wide.ts';
import type { NamedSeries } from '../../query/views/wide-columns.ts';
import { chooseColumns } from '../../query/views/wide-columns.ts';
import { parseDurationMs, windowMicros } from '../../runtime/config/job-file.ts';

export interface WideCommandOptions {
  readonly columns?: readonly string[];
  readonly vessel?: readonly string[];
  readonly window: string;
  readonly aggregate: string;
  readonly hold: string;
}

/** Checks what can be checked without the lake. Throws ConfigError `usage` that lists every fault. */
export function wideFromOptions(
  options: WideCommandOptions,
  onWarning: (text: string) => void,
): (series: readonly NamedSeries[]) => WideOptions {
  const { columns = ['shared'], vessel: vessels = [], aggregate } = options;
  const windowed = windowMicros(options.window);
  const held = parseDurationMs(options.hold);
  const faults = [
    windowed === undefined &&
      `--window: got '${options.window}', expected minutes, hours or 1d that divide a day, such as 10m`,
    !WIDE_AGGREGATES.includes(aggregate as WideAggregate) &&
      `--aggregate: got '${aggregate}', expected ${WIDE_AGGREGATES.join(', ')}`,
    !held && `--hold: got '${options.hold}', expected a duration such as 10m or 1h`,
    ...vessels
      .filter((vessel) => !VESSEL_ID.test(vessel))
      .map((vessel) => `--vessel: got '${vessel}', expected IMO and seven digits, such as IMO9321483`),
  ].filter((fault) => typeof fault === 'string');
  if (windowed !== undefined && held && Math.ceil((held * 1_000) / windowed) > MAX_HELD_WINDOWS)
    faults.push(
      `--hold: got '${options.hold}', expected at most ${MAX_HELD_WINDOWS} windows of ${options.window}`,
    );
  if (faults.length > 0) throw new ConfigError('usage', faults.join('\n'));
  return (series) => {
    const own = series.filter(({ vessel }) => vessels.length === 0 || vessels.includes(vessel));
    const [only] = columns;
    const asked = columns.length === 1 && (only === 'shared' || only === 'all') ? only : columns;
    const { columns: chosen, warnings } = chooseColumns(own, asked);
    for (const warning of warnings) onWarning(warning);
    return {
      columns: chosen,
      windowMicros: windowed!,
      aggregate: aggregate as WideAggregate,
      holdMicros: held! * 1_000,
    };
  };
}
