/** What follows from a reconciliation: the vessel-days to export again, and the refusals to remember. */
import { isOvertaken, type Job, type Note, type VesselDay } from '../../core/model/index.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import type { ExportPorts, ExportTask } from '../../export/ports.ts';
import { DayMap } from '../../lake/ledger/day-map.ts';
import { writeNote } from '../../lake/ledger/ledger.ts';
import { momentOfNote, readNotes, removeNote } from '../../lake/notes.ts';
import type { FindingState } from './compare-day.ts';
import type { JobReconciliation } from './reconcile-jobs.ts';

const TO_EXPORT: ReadonlySet<FindingState> = new Set(['missing', 'stale', 'changed']);
const TO_SHRINK: ReadonlySet<FindingState> = new Set(['would-shrink', 'refused']);

/** Exactly the vessel-days that an export fixes, as tasks for whoever performs them; with `allowShrink` those too that lose readings. */
export function repairTasks(
  ports: Pick<ExportPorts, 'apiVersion'>,
  job: Job,
  { findings, unlisted }: Pick<JobReconciliation, 'findings' | 'unlisted'>,
  { allowShrink, takeover }: Pick<ExportTask, 'allowShrink' | 'takeover'>,
): ExportTask[] {
  return findings
    .filter(({ state }) => TO_EXPORT.has(state) || (allowShrink && TO_SHRINK.has(state)))
    .map(({ day, state, compared }) => ({
      job,
      day,
      settingsHash: settingsHash(job, ports.apiVersion),
      // What is missing or stale is done as soon as anyone has exported it.
      force: state !== 'missing' && state !== 'stale',
      allowShrink,
      takeover,
      origin: 'reconcile',
      ...(unlisted.has(day.vessel) && { unlisted: true }),
      ...(compared === undefined ? {} : { compared }),
    }));
}

const DOUBTED: ReadonlySet<FindingState> = new Set([...TO_SHRINK, 'disagree']);

/** Any receipt ends only a note about a receipt that could not be read. */
const ANY_RECEIPT = { finishedAt: '' };

/**
 * Note the days that would lose readings, so that they are not tried again until the source's counts change, and take
 * back what is noted of days that would lose none any more, or whose receipt can be read again: those are returned.
 * Throws what the store throws.
 */
export async function noteRefusals(
  { store, clock }: Pick<ExportPorts, 'store' | 'clock'>,
  { job, findings, wasCompared }: Pick<JobReconciliation, 'job' | 'findings' | 'wasCompared'>,
): Promise<VesselDay[]> {
  const doubted = new DayMap<true>();
  for (const { day, state, message, compared } of findings) {
    if (DOUBTED.has(state)) doubted.set(day, true);
    if (state !== 'would-shrink') continue;
    const note: Note = {
      noteVersion: 1,
      ...day,
      state: 'refused',
      code: 'would-shrink',
      message: `the source has fewer readings than are published: ${message}. The published day stays; if the source is right, run reconcile --run --allow-shrink`,
      at: await momentOfNote({ store, clock }, day),
      ...(compared === undefined ? {} : { totalsSha256: compared.totalsSha256 }),
    };
    await writeNote(store, note);
  }
  const isAsked = (day: VesselDay) => wasCompared(day) && doubted.get(day) === undefined;
  const fixed: VesselDay[] = [];
  for (const { note } of (await readNotes(store, job, { isAsked })).values()) {
    const { vessel, date, state } = note;
    const day = { job, vessel, date };
    const isOver = state === 'refused' || isOvertaken(note, ANY_RECEIPT);
    if (isOver && (await removeNote(store, day, (now) => now.at === note.at))) fixed.push(day);
  }
  return fixed;
}
