/** 6: what people were told, message by message: each trouble once, and its end once. */
import type { Change } from '../../src/fleet/notify/cause-changes.ts';
import type { Message } from '../../src/fleet/notify/webhook.ts';
import { OracleError } from './oracles.ts';

export type NoticeOracle = ReturnType<typeof createNoticeOracle>;

export function createNoticeOracle() {
  const arrived = new Set<string>();
  /** By cause: the members that were told since it began. */
  const open = new Map<string, Set<string>>();
  const all: (Change & { readonly atMs: number })[] = [];
  let fault: OracleError | undefined;
  let isForgotten = false;

  function take(change: Change, atMs: number): void {
    const { what, kind, members } = change;
    const told = open.get(kind);
    all.push({ ...change, atMs });
    // What was told was lost, in the lake and beside it: better twice than not at all.
    const fail = (text: string) => {
      if (!isForgotten) fault ??= new OracleError(`6: ${text} (at ${atMs} ms)`);
    };
    if (what === 'begun' && told !== undefined) fail(`${kind} begins, and has begun before`);
    if (what !== 'begun' && told === undefined) fail(`${kind} is ${what}, and never began`);
    if (what === 'over') {
      open.delete(kind);
      return;
    }
    const before = told ?? new Set<string>();
    const again = members.find((member) => before.has(member));
    if (again !== undefined) fail(`${kind} of ${again} is told twice`);
    if (members.length === 0) fail(`${kind} is ${what}, of nothing`);
    open.set(kind, new Set([...before, ...members]));
  }

  return {
    open: open as ReadonlyMap<string, ReadonlySet<string>>,
    all: all as readonly (Change & { readonly atMs: number })[],
    /** The same message may come again: its id says so. */
    arrive({ id, changes }: Message, atMs: number): void {
      if (arrived.has(id)) return;
      arrived.add(id);
      for (const change of changes) take(change, atMs);
    },
    /** Neither the lake nor Redis could say what was told before. */
    forget() {
      isForgotten = true;
    },
    expectOnce(): void {
      if (fault !== undefined) throw fault;
    },
  };
}
