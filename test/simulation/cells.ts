/**
 * How far a vessel-day is × what may happen then: the table of claims, fences and publishing. Typed, so that no cell is
 * missing; histories say which of them they have visited.
 */
import type { ClaimFile, Receipt } from '../../src/core/model/index.ts';

export const STATES = ['free', 'claimed', 'checkpointed', 'sealed', 'published', 'proven'] as const;
/** Of the newest claim: none; without progress; with a checkpoint; with a draft; the draft can be read; its receipt is there. */
export type State = (typeof STATES)[number];

export const EVENTS = [
  'its owner dies',
  'its owner pauses',
  'another claims it',
  'it is taken over',
  'an overtaken one writes',
  'an answer is lost',
  'a request comes late or twice',
  'the source changes',
  'gc looks at it',
  'a conversion takes it over',
] as const;
export type Event = (typeof EVENTS)[number];

/** `yes`: histories are to visit it. Else why none can, or why few do. */
type Cell = 'yes' | `no: ${string}` | `seldom: ${string}`;

const NOBODY = 'no: there is no claim that anybody could own, or take over';
const GONE = 'seldom: the claim that it has listed is gone when it looks';
const OVER = 'seldom: whoever finds the receipt lets the claim be, unless it comes right after the look';

export const CELLS: Readonly<Record<State, Readonly<Record<Event, Cell>>>> = {
  free: {
    ...{ 'its owner dies': NOBODY, 'its owner pauses': NOBODY, 'it is taken over': NOBODY },
    ...{ 'a conversion takes it over': NOBODY, 'gc looks at it': GONE },
    ...{ 'another claims it': 'yes', 'an overtaken one writes': 'yes', 'an answer is lost': 'yes' },
    ...{ 'a request comes late or twice': 'yes', 'the source changes': 'yes' },
  },
  claimed: everywhere(),
  checkpointed: everywhere(),
  sealed: everywhere(),
  published: everywhere(),
  proven: {
    ...everywhere(),
    ...{ 'it is taken over': OVER, 'a conversion takes it over': OVER },
  },
};

function everywhere(): Record<Event, Cell> {
  return Object.fromEntries(EVENTS.map((event) => [event, 'yes' as const])) as Record<Event, Cell>;
}

const CLAIM = /^_checkpoints\/m\/date=([\d-]{10})\/vessel=(IMO\d{7})\/(\d+)\.json$/;
const RECEIPT = /^_ledger\/m\/date=([\d-]{10})\/vessel=(IMO\d{7})\.json$/;
const OF_DAY = /date=([\d-]{10})\/vessel=(IMO\d{7})|vessel=(IMO\d{7})\/date=([\d-]{10})/;
const WRITES = /^(put|remove|complete|send|abort)/;

/** A vessel-day, as the lake has it. */
interface Day {
  readonly claims: Map<number, ClaimFile>;
  receiptEpoch: number;
  /** Uploads and files of tables that readers see, or saw. */
  readonly seen: Set<string>;
}

export type Visit = `${State} / ${Event}`;

/** Follows a history, to be told of everything in its order. */
export class CellWatch {
  readonly visits: Map<Visit, number>;
  readonly #days = new Map<string, Day>();
  /** Who has been overtaken on which day. */
  readonly #overtaken = new Set<string>();

  constructor(visits: Map<Visit, number>) {
    this.visits = visits;
  }

  onChange(key: string, bytes: Uint8Array | undefined, nonce: string | undefined): void {
    const [claim, receipt] = [CLAIM.exec(key), RECEIPT.exec(key)];
    const text = () => Buffer.from(bytes!).toString();
    if (claim) this.#onClaim(`${claim[2]} ${claim[1]}`, Number(claim[3]), bytes && JSON.parse(text()));
    else if (receipt && bytes) {
      const { epoch } = JSON.parse(text()) as Receipt;
      this.#day(`${receipt[2]} ${receipt[1]}`).receiptEpoch = epoch;
    } else if (nonce !== undefined) this.#dayOf(key)?.seen.add(nonce);
    else if (key.includes('/_delta_log/') && key.endsWith('.json') && bytes)
      for (const [, path] of text().matchAll(/"add":\{"path":"([^"]+)"/g))
        this.#dayOf(path!)?.seen.add(`m/${path}`);
  }

  /** `how`: as the store has it. */
  onEffect(who: string, call: string, how: 'once' | 'late' | 'again' | 'unanswered'): void {
    const name = nameIn(call);
    if (name === undefined) return;
    if (WRITES.test(call) && this.#overtaken.has(`${who} ${name}`))
      this.#visit(name, 'an overtaken one writes');
    if (how === 'unanswered') this.#visit(name, 'an answer is lost');
    if (how === 'late' || how === 'again') this.#visit(name, 'a request comes late or twice');
    if (who.includes('gc-') && call.startsWith('get _checkpoints/')) this.#visit(name, 'gc looks at it');
    const isClaim = call.startsWith('put _checkpoints/') && call.endsWith('in the place of null');
    if (isClaim && this.#ownerOf(name) !== who) this.#visit(name, 'another claims it');
  }

  onStopped(who: string, how: 'dies' | 'pauses'): void {
    for (const name of this.#days.keys())
      if (this.#ownerOf(name) === who) this.#visit(name, `its owner ${how}`);
  }

  onSource(name: string): void {
    this.#visit(name, 'the source changes');
  }

  #onClaim(name: string, epoch: number, file: ClaimFile | undefined): void {
    const { claims } = this.#day(name);
    if (file === undefined) return void claims.delete(epoch);
    if (file.fencedBy !== undefined && claims.get(epoch)?.fencedBy === undefined) {
      const by = claims.get(file.fencedBy)?.owner.host ?? '';
      const event = by.includes('convert-') ? 'a conversion takes it over' : 'it is taken over';
      count(this.visits, `${this.#stateOf(name, file)} / ${event}`);
      this.#overtaken.add(`${file.owner.host} ${name}`);
    }
    claims.set(epoch, file);
  }

  #visit(name: string, event: Event): void {
    const { claims } = this.#day(name);
    count(this.visits, `${this.#stateOf(name, claims.get(Math.max(...claims.keys())))} / ${event}`);
  }

  #stateOf(name: string, claim: ClaimFile | undefined): State {
    const { receiptEpoch, seen } = this.#day(name);
    if (claim === undefined) return 'free';
    if (receiptEpoch >= claim.epoch) return 'proven';
    const { sealed, checkpoint } = claim;
    const isSeen = [sealed?.upload?.nonce, sealed?.table?.add?.key].some(
      (id) => id !== undefined && seen.has(id),
    );
    // In a table the object alone is nothing that anybody sees.
    if (sealed && isSeen && (!sealed.table?.add || seen.has(sealed.table.add.key))) return 'published';
    if (sealed) return 'sealed';
    return checkpoint ? 'checkpointed' : 'claimed';
  }

  #ownerOf(name: string): string | undefined {
    const { claims } = this.#day(name);
    return claims.get(Math.max(...claims.keys()))?.owner.host;
  }

  #dayOf(key: string): Day | undefined {
    const name = nameIn(key);
    return name === undefined ? undefined : this.#day(name);
  }

  #day(name: string): Day {
    const day = this.#days.get(name) ?? { claims: new Map(), receiptEpoch: 0, seen: new Set() };
    this.#days.set(name, day);
    return day;
  }
}

function nameIn(text: string): string | undefined {
  const match = OF_DAY.exec(text);
  return match ? `${match[2] ?? match[3]} ${match[1] ?? match[4]}` : undefined;
}

function count(visits: Map<Visit, number>, visit: Visit): void {
  visits.set(visit, (visits.get(visit) ?? 0) + 1);
}

/** So many histories visit every cell, whichever they are. */
export const SEEDS_FOR_ALL_CELLS = 1_000;
/** Few as they are, they visit every cell: those that a conversion is to visit are seldom, and chosen. */
export const SUITE_SEEDS: readonly number[] = [
  ...Array.from({ length: 187 }, (_, at) => at + 1),
  ...[215, 282, 298, 299, 335, 405, 507, 709, 846, 1_200, 1_370, 1_460, 2_029],
];

/** What does not fit: cells that were never visited, and visits to those that cannot be. */
export function misfitsOf(visits: ReadonlyMap<Visit, number>): string[] {
  const misfits: string[] = [];
  for (const state of STATES)
    for (const event of EVENTS) {
      const [cell, isVisited] = [CELLS[state][event], visits.has(`${state} / ${event}`)];
      if (cell === 'yes' && !isVisited) misfits.push(`${state} / ${event}: never visited`);
      if (cell.startsWith('no') && isVisited) misfits.push(`${state} / ${event}: visited, ${cell}`);
    }
  return misfits;
}

/** For people: a line a state. */
export function tellVisits(visits: ReadonlyMap<Visit, number>): string {
  const lines = STATES.map((state) => {
    const counts = EVENTS.map((event) => `${event} ${visits.get(`${state} / ${event}`) ?? '-'}`);
    return `${state}: ${counts.join(' · ')}`;
  });
  return `${lines.join('\n')}\n`;
}
