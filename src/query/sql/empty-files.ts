/**
 * Empty files in the places of objects, for a query to be planned over. Ten thousands of folders would take many seconds to
 * make and to remove, and most vessels have the same dates: so the dates are links to one folder with one empty file, and
 * vessels are links to the folder of their dates.
 */
import { copyFile, mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { VesselDay } from '../../core/model/index.ts';

const LINKS_AT_ONCE = 16;

interface EmptyFiles {
  /**
   * Put `<folder>/job=…/vessel=…/date=…/empty.parquet` in the place of each vessel-day, and nothing else; the folder. What
   * was placed before is kept where it is the same, else it goes.
   */
  place(days: readonly VesselDay[], signal: AbortSignal): Promise<string>;
}

/** `dir`: a folder of its own. `templates`: by job, an empty file. */
export function createEmptyFiles(dir: string, templates: ReadonlyMap<string, string>): EmptyFiles {
  let made = 0;
  let placed: { readonly what: string; readonly folder: string } | undefined;
  return {
    async place(days, signal) {
      const vessels = datesOfVessels(days);
      const what = JSON.stringify(vessels);
      if (placed?.what === what) return join(placed.folder, 'plan');
      if (placed !== undefined) await rm(placed.folder, { recursive: true, force: true });
      placed = undefined;
      const folder = join(dir, String(made++));
      await linkAll(folder, vessels, templates, signal);
      placed = { what, folder };
      return join(folder, 'plan');
    },
  };
}

interface VesselDates {
  readonly job: string;
  readonly vessel: string;
  /** In order, with commas. */
  readonly dates: string;
}

function datesOfVessels(days: readonly VesselDay[]): VesselDates[] {
  return [...Map.groupBy(days, ({ job }) => job)].flatMap(([job, ofJob]) =>
    [...Map.groupBy(ofJob, ({ vessel }) => vessel)].map(([vessel, own]) => ({
      job,
      vessel,
      dates: [...new Set(own.map(({ date }) => date))].sort().join(','),
    })),
  );
}

async function linkAll(
  folder: string,
  vessels: readonly VesselDates[],
  templates: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(join(folder, 'plan'), { recursive: true });
  let sets = 0;
  for (const [job, ofJob] of Map.groupBy(vessels, (one) => one.job)) {
    const empty = join(folder, 'empty', job);
    await mkdir(empty, { recursive: true });
    await copyFile(templates.get(job)!, join(empty, 'empty.parquet'));
    await mkdir(join(folder, 'plan', `job=${job}`));
    for (const [dates, alike] of Map.groupBy(ofJob, (one) => one.dates)) {
      const set = join(folder, 'dates', String(sets++));
      await mkdir(set, { recursive: true });
      await forEachAtOnce(dates.split(','), LINKS_AT_ONCE, async (date) => {
        signal.throwIfAborted();
        await symlink(empty, join(set, `date=${date}`), 'dir');
      });
      await forEachAtOnce(alike, LINKS_AT_ONCE, ({ vessel }) =>
        symlink(set, join(folder, 'plan', `job=${job}`, `vessel=${vessel}`), 'dir'),
      );
    }
  }
}
