/** How much of an export is done, and how long the rest takes. The time is passed in. */
import { formatVesselDay, type VesselDay } from '../../core/model/index.ts';
import type { Progress } from '../../export/events.ts';

/** Beside its rows a vessel-day is uploaded, verified and published: so much of the time of a mean one. */
const TAIL = 0.1;
/** The rate of a job is that of its last seconds, and nothing is said of one that began a moment ago. */
const WINDOW_MS = 30_000;
const MIN_MS = 1_000;
const MIN_WORK = 0.001;

export type Outlook = ReturnType<TimeLeft['look']>;

type Sample = Readonly<{ atMs: number; done: number; rows: number }>;

interface JobWork {
  planned: number;
  finished: number;
  finishedRows: number;
  readonly underWay: Map<string, Progress>;
  /** Where it began, then those of the window. */
  readonly samples: Sample[];
}

/** Told of every vessel-day of a run; `look` is asked at each drawing of a bar. */
export class TimeLeft {
  readonly #jobs = new Map<string, JobWork>();

  plan(days: readonly VesselDay[]): void {
    this.#jobs.clear();
    for (const [job, { length: planned }] of Map.groupBy(days, ({ job }) => job))
      this.#jobs.set(job, { planned, finished: 0, finishedRows: 0, underWay: new Map(), samples: [] });
  }

  progress(day: VesselDay, progress: Progress): void {
    this.#jobs.get(day.job)?.underWay.set(formatVesselDay(day), progress);
  }

  /** `rows` that it has; undefined: those that were fetched. */
  finish(day: VesselDay, rows?: number): void {
    const job = this.#jobs.get(day.job);
    if (job === undefined) return;
    job.finished++;
    job.finishedRows += rows ?? job.underWay.get(formatVesselDay(day))?.rows ?? 0;
    job.underWay.delete(formatVesselDay(day));
  }

  look(nowMs: number) {
    let isTurn = true;
    const jobs = [...this.#jobs.values()].map((job) => {
      const work = workOf(job);
      const rate = rateOf(job.samples, { atMs: nowMs, ...work }, isTurn, job.finished > 0);
      const isOpen = job.finished < job.planned;
      isTurn &&= !isOpen;
      return { ...work, rate, isOpen, secondsLeft: rate && (work.planned - work.done) / rate.work };
    });
    const sum = (of: (job: (typeof jobs)[number]) => number) => jobs.reduce((all, job) => all + of(job), 0);
    const [counted, planned] = [sum((job) => job.counted), sum((job) => job.planned)];
    const meanOfAll = sum((job) => job.known) / counted;
    const expectedRows = sum((job) => job.known + (job.planned - job.counted) * (job.mean ?? meanOfAll));
    const isKnown = jobs.some(({ secondsLeft }) => secondsLeft !== undefined);
    return {
      rows: sum((job) => job.rows),
      /** Vessel-days that are not counted yet are taken to be like the others. */
      expectedRows: counted === 0 ? undefined : expectedRows,
      counted: counted === planned,
      share: sum((job) => job.done) / Math.max(1, planned),
      rowsPerSecond: sum((job) => job.rate?.rows ?? 0),
      /** Of the jobs that have begun; undefined while nothing is known. */
      secondsLeft: isKnown ? sum((job) => job.secondsLeft ?? 0) : undefined,
      /** Are there jobs that have not begun, so that it takes longer? */
      isLeast: jobs.some(({ isOpen, secondsLeft }) => isOpen && secondsLeft === undefined),
    };
  }
}

function workOf({ planned, finished, finishedRows, underWay }: JobWork) {
  const running = [...underWay.values()];
  const sum = (of: (day: Progress) => number) => running.reduce((all, day) => all + of(day), 0);
  const counted = finished + sum(({ rowsKnown }) => (rowsKnown === undefined ? 0 : 1));
  const known = finishedRows + sum(({ rowsKnown }) => rowsKnown ?? 0);
  const mean = counted === 0 ? undefined : known / counted;
  const fetched = finishedRows + sum(({ rows, rowsKnown = mean ?? 0 }) => Math.min(rows, rowsKnown));
  return {
    planned,
    counted,
    known,
    mean,
    rows: finishedRows + sum(({ rows }) => rows),
    // Where all are empty, as where nothing is counted, the vessel-days themselves are the work.
    done: mean ? (1 - TAIL) * (fetched / mean) + TAIL * finished : finished,
  };
}

/** Work and rows a second; undefined while the job has not begun. Adds `now` to the samples. */
function rateOf(samples: Sample[], now: Sample, isTurn: boolean, hasFinished: boolean) {
  // Until it is the job's turn, it has not begun; of the time without a row, the first moment and the last are kept.
  if (now.done === 0) samples.length = isTurn ? Math.min(samples.length, 1) : 0;
  samples.push(now);
  while (samples.length > 2 && now.atMs - samples[1]!.atMs > WINDOW_MS) samples.splice(1, 1);
  const first = samples[0]!;
  const recent = samples.length > 2 ? samples[1]! : first;
  const isStill = now.done - recent.done < MIN_WORK || now.atMs - recent.atMs < MIN_MS;
  // What comes before the rows of a day is known to be in its time once one day is finished.
  const from = hasFinished && (isStill || now.atMs - first.atMs <= WINDOW_MS) ? first : recent;
  const seconds = (now.atMs - from.atMs) / 1_000;
  if (now.done - from.done < MIN_WORK || seconds * 1_000 < MIN_MS) return undefined;
  return { work: (now.done - from.done) / seconds, rows: Math.max(0, now.rows - from.rows) / seconds };
}
