/**
 * Warnings about published days, of several kinds, in their receipts. The next days of the vessel carry a warning on until it is
 * accepted (`_accepted/…`) or over. So the open warnings are those of each vessel's newest receipt.
 */
import type {
  ComparedSeries,
  Moment,
  Receipt,
  SeriesWarning,
  VesselDay,
  Warning,
} from '../core/model/index.ts';
import { momentText, shortName } from '../core/model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, unlessDamaged } from './json.ts';
import { acceptedKey } from './keys.ts';
import { ACCEPTANCE_FILE, readFile } from './shapes.ts';

interface Acceptance {
  readonly acceptedVersion: 1;
  readonly job: string;
  readonly vessel: string;
  /** The lowest accepted number of series; if `select` had changed, it counts those of the `select` with this hash. */
  readonly series?: number;
  readonly selectHash?: string;
  readonly at: string;
  readonly warnings?: Readonly<Record<string, string>>;
}

/** What was accepted last; a damaged file is ignored. */
export async function readAcceptance(
  store: Pick<ObjectStore, 'get'>,
  job: string,
  vessel: string,
): Promise<Acceptance | undefined> {
  const read = readFile<Acceptance>(store, acceptedKey(job, vessel), ACCEPTANCE_FILE);
  return (await unlessDamaged(read))?.file;
}

export async function writeAcceptance(store: ObjectStore, acceptance: Acceptance): Promise<void> {
  await store.put(acceptedKey(acceptance.job, acceptance.vessel), jsonBytes(acceptance));
}

/**
 * Whether it is accepted that there are `selected` series, although an earlier day had more. An acceptance covers only earlier days
 * that were published before it: series that came back and are lost again need a new one.
 */
export function isAccepted(
  acceptance: Acceptance | undefined,
  comparedWith: ComparedSeries,
  selected: number,
): boolean {
  const { at = '', series = Number.POSITIVE_INFINITY, selectHash } = acceptance ?? {};
  const isOfSelect = comparedWith.selectHash === undefined || comparedWith.selectHash === selectHash;
  return isOfSelect && at >= comparedWith.finishedAt && selected >= series;
}

/** Whether exactly these series are accepted. */
export function isWarningAccepted(
  acceptance: Acceptance | undefined,
  { kind, digest }: SeriesWarning,
): boolean {
  return acceptance?.warnings?.[kind] === digest;
}

export function warningsOf({ remark, warnings = [] }: Pick<Receipt, 'remark' | 'warnings'>): Warning[] {
  return [...(remark ? [remark] : []), ...warnings];
}

export function openWarnings(
  receipt: Pick<Receipt, 'remark' | 'warnings' | 'selectedSeries'>,
  acceptance: Acceptance | undefined,
): Warning[] {
  return warningsOf(receipt).filter((warning) =>
    warning.kind === 'fewer-series'
      ? !isAccepted(acceptance, warning.comparedWith, receipt.selectedSeries ?? 0)
      : !isWarningAccepted(acceptance, warning),
  );
}

type WarnedReceipt = Pick<Receipt, 'job' | 'vessel' | 'date' | 'selectedSeries' | 'remark' | 'warnings'> & {
  readonly started: Moment;
};

export interface OpenWarnings {
  readonly day: VesselDay;
  readonly warnings: readonly Warning[];
}

export const WARNING_MEMBERS = ['started', 'selectedSeries', 'remark', 'warnings'] as const;

/** Collects receipts in any order, and keeps the newest of each vessel. */
export class Warnings {
  readonly #newest = new Map<string, WarnedReceipt>();

  add({ job, vessel, date, started, selectedSeries, remark, warnings }: WarnedReceipt): void {
    const name = `${job}/${vessel}`;
    const known = this.#newest.get(name);
    if (known !== undefined && isEarlier(started, known.started)) return;
    const said = { ...(remark && { remark }), ...(warnings && { warnings }) };
    const counted = selectedSeries !== undefined && { selectedSeries };
    this.#newest.set(name, { job, vessel, date, started, ...counted, ...said });
  }

  /** The vessels' newest receipts with a warning, accepted or not. */
  newest(): WarnedReceipt[] {
    const warned = [...this.#newest].filter(([, receipt]) => warningsOf(receipt).length > 0);
    return warned.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, receipt]) => receipt);
  }

  /** Those that are not accepted; one request to the store for each vessel with a warning. Throws what the store throws. */
  async open(store: Pick<ObjectStore, 'get'>): Promise<OpenWarnings[]> {
    const open: OpenWarnings[] = [];
    for (const receipt of this.newest()) {
      const { job, vessel, date } = receipt;
      const warnings = openWarnings(receipt, await readAcceptance(store, job, vessel));
      if (warnings.length > 0) open.push({ day: { job, vessel, date }, warnings });
    }
    return open;
  }
}

function isEarlier(a: Moment, b: Moment): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a < b : momentText(a) < momentText(b);
}

/** Higher than the number of names in a warning. */
const MAX_NAMED = 10;

/** `8 of the 10 series of 2026-01-04 are missing since 2026-01-05: Draught; and 7 more`. The names are foreign text. */
export function describeWarning(warning: Warning): string {
  const { since } = warning;
  if (warning.kind === 'fewer-series') {
    const { missing, names, comparedWith } = warning;
    const { series, date, selectHash } = comparedWith;
    const of = `${missing} of the ${selectHash === undefined ? `${series} ` : ''}series of ${date}`;
    return withNames(`${of} are missing since ${since}`, missing, names);
  }
  const { kind, series, names } = warning;
  const [what, why] = KINDS[kind] ?? [`have '${shortName(kind)}'`, ''];
  return withNames(`${series} series ${what} since ${since}${why}`, series, names);
}

/** Describes the kind of a warning; a newer version may have other kinds. */
const KINDS: Readonly<Record<string, readonly [string, string]>> = {
  'other-vessel': ['are left out', ", as metadata say that they are another vessel's"],
};

export function describeWarnings(warnings: readonly Warning[]): string {
  return warnings.map(describeWarning).join('. ');
}

function withNames(what: string, count: number, all: readonly string[]): string {
  const named = all.slice(0, MAX_NAMED).map(shortName);
  const more = count > named.length && named.length > 0 ? [`and ${count - named.length} more`] : [];
  const listed = [...named, ...more].join('; ');
  return listed === '' ? what : `${what}: ${listed}`;
}

export function howToAccept({ job, vessel }: Pick<VesselDay, 'job' | 'vessel'>): string {
  return `vessel-export accept ${job} ${vessel}`;
}
