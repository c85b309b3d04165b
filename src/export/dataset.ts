/** What differs between measurements and statistics: the builder, how time slices are fetched, the cursor's step. */
import type { DayCounts, Micros, TimeRange } from '../core/model/index.ts';
import { createSeriesDictionary, STATISTICS_ROW_GROUP_ROWS, windowMicrosOf } from '../core/model/index.ts';
import type { RowGroupBuilder } from '../parquet/write/index.ts';
import { createMeasurementRowGroups, createStatisticsRowGroups } from '../parquet/write/index.ts';
import type { ResolvedSeries } from '../source/context.ts';
import { type Assembly, createAssembly } from './assembly.ts';
import type { DayAttempt } from './day-attempt.ts';
import { fetchReadings, timestampStepMicros } from './readings.ts';
import { fetchWindows } from './windows.ts';

interface Stages {
  /** Fetch time slices in order, and seal and upload what they hold. */
  fetch(slices: readonly TimeRange[]): Promise<void>;
  /**
   * Give the memory back. Waits for what is being uploaded: after a failure nothing of this attempt may reach the
   * store once its claim has been handed back, or another attempt begun.
   */
  close(): Promise<void>;
}

interface StagesOptions extends DayAttempt {
  /** What the source counts of the day; undefined where it is not asked. */
  readonly sourceCounts: DayCounts | undefined;
  readonly onRows: (rows: number) => void;
  readonly onPart: (cursorMicros: Micros) => Promise<void>;
}

/** The stages between the service and the open upload, for the job's dataset. */
export function openStages(options: StagesOptions): Stages {
  return options.context.job.dataset === 'statistics'
    ? statisticsStages(options)
    : measurementStages(options);
}

function measurementStages(options: StagesOptions): Stages {
  const { context, series, ports } = options;
  const { sizes, encoder } = ports;
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({ ...sizes, dictionary, idOf: nameOf(series), encoder });
  const cursorStepMicros = timestampStepMicros(context.job.transport);
  return stages(builder, createAssembly({ ...options, builder, cursorStepMicros }), (assembly, slices) =>
    fetchReadings({ ...options, builder, dictionary, assembly }, slices),
  );
}

function statisticsStages(options: StagesOptions): Stages {
  const { context, series, ports } = options;
  const { sizes, encoder } = ports;
  const builder = createStatisticsRowGroups({
    ...sizes,
    rowGroupRows: Math.min(sizes.rowGroupRows, STATISTICS_ROW_GROUP_ROWS),
    aggregations: context.job.aggregations ?? ['count'],
    idOf: nameOf(series),
    encoder,
  });
  const cursorStepMicros = windowMicrosOf(context.job);
  return stages(builder, createAssembly({ ...options, builder, cursorStepMicros }), (assembly, slices) =>
    fetchWindows({ ...options, builder, assembly }, slices),
  );
}

function stages<Batch>(
  builder: RowGroupBuilder<Batch>,
  assembly: Assembly,
  fetch: (assembly: Assembly, slices: readonly TimeRange[]) => Promise<void>,
): Stages {
  return {
    async fetch(slices) {
      await fetch(assembly, slices);
      await assembly.sealRest();
    },
    async close() {
      await assembly.settled();
      await builder.close();
    },
  };
}

function nameOf(series: ResolvedSeries): (timeSeriesId: string) => string | null {
  return (id) => series.idOf.get(id) ?? null;
}
