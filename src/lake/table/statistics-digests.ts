/** What a log says of its files' rows, small enough to be held of all of them: there may be a million. */
import { hash } from 'node:crypto';
import type { TableView } from './table-view.ts';

/** Of each statistics only this is held. */
export function statisticsDigest(stats: string | undefined): string {
  return hash('sha256', stats ?? '', 'base64').slice(0, 16);
}

/** Into `digests`, by path: of the files of vessel-days that are wanted, as far as the log can be read. Throws DataError. */
export async function readStatisticsDigests(
  view: Pick<TableView, 'files'>,
  digests: Map<string, string>,
  isWanted: (day: { readonly vessel: string; readonly date: string }) => boolean = () => true,
): Promise<void> {
  for await (const { path, partitionValues, stats } of view.files()) {
    const { vessel, date } = partitionValues;
    if (vessel && date && isWanted({ vessel, date })) digests.set(path, statisticsDigest(stats));
  }
}
