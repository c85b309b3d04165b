/**
 * Remarks: what a receipt keeps saying about a published day. The next days of the vessel carry it on, until somebody
 * accepts it (`_accepted/…`) or what was missing is back. So what stands open is what the vessel's newest receipt says.
 */
import type { ComparedSeries, Receipt, SeriesRemark, VesselDay } from '../model/index.ts';
import { shortName } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, unlessDamaged } from './json.ts';
import { acceptedKey } from './keys.ts';
import { ACCEPTANCE_FILE, parseFile } from './shapes.ts';

/** Somebody has said that a vessel may have so few series. */
interface Acceptance {
  readonly acceptedVersion: 1;
  readonly job: string;
  readonly vessel: string;
  /** The fewest that are accepted. */
  readonly series: number;
  readonly at: string;
}

/** What was accepted last; a damaged file says nothing. */
export async function readAcceptance(
  store: Pick<ObjectStore, 'get'>,
  job: string,
  vessel: string,
): Promise<Acceptance | undefined> {
  const key = acceptedKey(job, vessel);
  const object = await store.get(key);
  return (
    object && (await unlessDamaged((async () => parseFile<Acceptance>(object.bytes, key, ACCEPTANCE_FILE))()))
  );
}

export async function writeAcceptance(store: ObjectStore, acceptance: Acceptance): Promise<void> {
  await store.put(acceptedKey(acceptance.job, acceptance.vessel), jsonBytes(acceptance));
}

/**
 * Is it accepted that there are `selected` series, where an earlier day had more? What was published after the
 * acceptance counts anew: series that came back and are lost again are not those that somebody looked at.
 */
export function isAccepted(
  acceptance: Acceptance | undefined,
  comparedWith: ComparedSeries,
  selected: number,
): boolean {
  return (
    acceptance !== undefined && acceptance.at >= comparedWith.finishedAt && selected >= acceptance.series
  );
}

/** The part of a receipt that remarks are about. */
type RemarkedReceipt = Pick<Receipt, 'job' | 'vessel' | 'date' | 'startedAt' | 'selectedSeries' | 'remark'>;

/** A remark, at the newest vessel-day of the vessel. */
export interface OpenRemark {
  readonly day: VesselDay;
  readonly remark: SeriesRemark;
  /** Series that the day has. */
  readonly selectedSeries: number;
}

/** What is asked of receipts for remarks. */
export const REMARK_MEMBERS = ['startedAt', 'selectedSeries', 'remark'] as const;

export interface Remarks {
  add(receipt: RemarkedReceipt): void;
  /** The remarks of the vessels' newest receipts, accepted or not. */
  newest(): OpenRemark[];
  /** Those that nobody has accepted; one request to the store for each vessel that has a remark. Throws what the store throws. */
  open(store: Pick<ObjectStore, 'get'>): Promise<OpenRemark[]>;
}

/** Gathers receipts, in any order; keeps one of each vessel. */
export function createRemarks(): Remarks {
  /** By job and vessel. */
  const receipts = new Map<string, Map<string, RemarkedReceipt>>();
  const newest = () =>
    [...receipts.values()]
      .flatMap((ofJob) => [...ofJob.values()])
      .sort(inOrder)
      .flatMap((receipt): OpenRemark[] => {
        const { job, vessel, date, remark, selectedSeries = 0 } = receipt;
        return remark === undefined ? [] : [{ day: { job, vessel, date }, remark, selectedSeries }];
      });
  return {
    add({ job, vessel, date, startedAt, selectedSeries, remark }) {
      let ofJob = receipts.get(job);
      if (ofJob === undefined) {
        ofJob = new Map();
        receipts.set(job, ofJob);
      }
      if (startedAt < (ofJob.get(vessel)?.startedAt ?? '')) return;
      const said = { ...(selectedSeries !== undefined && { selectedSeries }), ...(remark && { remark }) };
      ofJob.set(vessel, { job, vessel, date, startedAt, ...said });
    },
    newest,
    async open(store) {
      const open: OpenRemark[] = [];
      for (const one of newest()) {
        const { day, remark, selectedSeries } = one;
        const acceptance = await readAcceptance(store, day.job, day.vessel);
        if (!isAccepted(acceptance, remark.comparedWith, selectedSeries)) open.push(one);
      }
      return open;
    },
  };
}

function inOrder(a: RemarkedReceipt, b: RemarkedReceipt): number {
  return `${a.job}/${a.vessel}` < `${b.job}/${b.vessel}` ? -1 : 1;
}

/** More names than a remark has. */
const MOST_NAMED = 10;

/** `8 of the 10 series of 2026-01-04 are missing since 2026-01-05: Draught; Speed; Wind; and 5 more` */
export function describeRemark({ missing, names, comparedWith, since }: SeriesRemark): string {
  // They come from a receipt, which anybody may have written.
  const named = names.slice(0, MOST_NAMED).map(shortName);
  const more = missing > named.length && named.length > 0 ? [`and ${missing - named.length} more`] : [];
  const listed = [...named, ...more].join('; ');
  const { series, date } = comparedWith;
  const what = `${missing} of the ${series} series of ${date} are missing since ${since}`;
  return listed === '' ? what : `${what}: ${listed}`;
}

/** What to type to accept it. */
export function howToAccept({ job, vessel }: Pick<VesselDay, 'job' | 'vessel'>): string {
  return `vessel-export accept ${job} ${vessel}`;
}
