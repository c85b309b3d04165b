/** What differs between measurements and statistics: the builder, how pages are fetched, the cursor's step. */
import type { Encoder, RowGroupBuilder } from '../encode/index.ts';
import { createMeasurementRowGroups, createStatisticsRowGroups } from '../encode/index.ts';
import type { DayCounts, FormatSizes, Micros, TimeRange } from '../model/index.ts';
import { createSeriesDictionary, MICROS_PER_HOUR, STATISTICS_ROW_GROUP_ROWS } from '../model/index.ts';
import type { PartUpload } from '../publish/parts.ts';
import type { Assembly } from './assembly.ts';
import { createAssembly } from './assembly.ts';
import { fetchReadings, timestampStepMicros } from './readings.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';
import { fetchWindows } from './windows.ts';

export interface Dataset {
  /** Fetch pages in order, and seal and upload what they hold. */
  fetch(pages: readonly TimeRange[]): Promise<void>;
  /**
   * Give the memory back. Waits for what is being uploaded: after a failure nothing of this attempt may reach the
   * store once its claim has been handed back, or another attempt begun.
   */
  close(): Promise<void>;
}

export interface DatasetOptions {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly counts: DayCounts;
  readonly parts: PartUpload;
  readonly tally: { pages: number; clippedRows: number };
  readonly encoder: Encoder;
  readonly sizes: FormatSizes;
  readonly onRows: (rows: number) => void;
  readonly onPart: (cursorMicros: Micros) => Promise<void>;
}

/** The stages between the service and the open upload, for the job's dataset. */
export function openDataset(options: DatasetOptions): Dataset {
  return options.context.job.dataset === 'statistics' ? openStatistics(options) : openMeasurements(options);
}

function openMeasurements(options: DatasetOptions): Dataset {
  const { context, series, sizes, encoder } = options;
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({
    rowGroupRows: sizes.rowGroupRows,
    dictionary,
    idOf: nameOf(series),
    encoder,
  });
  const cursorStepMicros = timestampStepMicros(context.job.transport);
  return stages(builder, createAssembly({ ...options, builder, cursorStepMicros }), (assembly, pages) =>
    fetchReadings({ ...options, builder, dictionary, assembly }, pages),
  );
}

function openStatistics(options: DatasetOptions): Dataset {
  const { context, series, sizes, encoder } = options;
  const builder = createStatisticsRowGroups({
    rowGroupRows: Math.min(sizes.rowGroupRows, STATISTICS_ROW_GROUP_ROWS),
    aggregations: context.job.aggregations ?? ['count'],
    idOf: nameOf(series),
    encoder,
  });
  const cursorStepMicros = context.job.windowMicros ?? MICROS_PER_HOUR;
  return stages(builder, createAssembly({ ...options, builder, cursorStepMicros }), (assembly, pages) =>
    fetchWindows({ ...options, builder, assembly }, pages),
  );
}

function stages<Batch>(
  builder: RowGroupBuilder<Batch>,
  assembly: Assembly,
  fetch: (assembly: Assembly, pages: readonly TimeRange[]) => Promise<void>,
): Dataset {
  return {
    async fetch(pages) {
      await fetch(assembly, pages);
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
