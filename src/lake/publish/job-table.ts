/**
 * The table of a job in a delta lake, as this process writes it. Vessel-days that are finished within a second are
 * committed together, by one entry: the first at once, those after it when the second is over.
 *
 * The log is a fence, by one rule: *a version is seen, then the claim, then the next version is put, where there is
 * none*. So whoever was fenced has at most one entry still on its way: that of the version after one that was there
 * before it was fenced. Its successor, who looks at the log after it has fenced it, has only to fill the next version
 * with an entry that changes nothing (`settle`): from then on what the table does not have of the predecessor never comes.
 */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { CommitFailedError, CommitUnknownError, DataError, messageOf } from '../../core/errors.ts';
import type { Clock, Log, Receipt, TableChange, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import { unlessDamaged } from '../json.ts';
import type { Action } from '../table/actions.ts';
import type { TableContent } from '../table/schema.ts';
import { createDigestReader, statisticsDigest } from '../table/statistics.ts';
import { prepareTable, type Table } from '../table/table.ts';
import { expectVersion } from './table-files.ts';

/** Minimum time between two entries. */
const GATHER_MS = 1_000;
/** Vessel-days in an entry: with more it would be slow to read. */
const MAX_GROUP = 500;
const LOOKS_AT_ONCE = 16;
/** Versions that others may win in a row, and commits in a row with an unknown outcome. */
const MAX_ROUNDS = 100;
const MAX_UNKNOWN = 3;

/** Reads of a log that seems damaged, a second apart: the fault may be temporary. */
const MAX_LOOKS = 3;

/** After so long without a commit the log is read first: a clean-up may have removed versions. */
const IDLE_MS = 3_600_000;

interface DayCommit {
  readonly day: VesselDay;
  readonly change: TableChange;
  readonly checkFence: () => Promise<void>;
}

interface Member extends DayCommit {
  /** A version that was there before the claim was last seen to stand. */
  readonly seenAt: number;
  readonly resolve: (version: number) => void;
  readonly reject: (error: unknown) => void;
}

interface JobTablePorts {
  readonly table: Pick<
    Table,
    'version' | 'filesOf' | 'files' | 'refresh' | 'commit' | 'preparation' | 'tidy' | 'nowMs'
  >;
  readonly clock: Clock;
  readonly log: Log;
  /** Keys of its files begin with this; paths in the log are relative to it. */
  readonly prefix: string;
}

export class JobTable {
  readonly #ports: JobTablePorts;
  #waiting: Member[] = [];
  #committing: Promise<void> | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  /** When the log was last known to be as `table` has it, or nearly. */
  #seenMs: number;
  #tidying: Promise<void> = Promise.resolve();
  readonly #digestOf: ReturnType<typeof createDigestReader>;

  constructor(ports: JobTablePorts) {
    this.#ports = ports;
    this.#seenMs = ports.clock.monotonicMs();
    this.#digestOf = createDigestReader(ports.table);
  }

  /** The version of the view: later commits have a higher one. */
  get version(): number {
    return this.#ports.table.version;
  }

  /** Make sure that the table exists and can take files of `content`. Throws RefusedError `table-schema`, FatalError. */
  async prepare(content: TableContent): Promise<void> {
    const isReady = await prepareTable(this.#ports.table, content, { maxRounds: MAX_ROUNDS });
    if (!isReady) throw this.#contended();
  }

  /** The files of a vessel-day, mostly one. A view without the receipt's file comes to the newest version first. Throws as `expect`. */
  async filesOf(day: VesselDay, receipt: Receipt | undefined): Promise<TableChange['remove']> {
    if (receipt !== undefined) await this.expect(receipt);
    const known = receipt?.object?.key;
    const isKnown = (files: TableChange['remove']) =>
      known === undefined ? files.length === 0 : files.some(({ key }) => key === known);
    if (!isKnown(this.#filesOf(day))) await this.refresh();
    return this.#filesOf(day);
  }

  /** Throws DataError `damaged-log` where the log has lost the version that a receipt names. */
  expect(receipt: Receipt): Promise<void> {
    return expectVersion(this, receipt);
  }

  /** Read up to the newest version. Throws DataError `damaged-log`, FatalError `unsupported-table`. */
  async refresh(): Promise<void> {
    const { table, clock } = this.#ports;
    for (let look = 1; ; look++)
      try {
        await table.refresh();
        return;
      } catch (error) {
        if (!(error instanceof DataError) || look === MAX_LOOKS) throw error;
        await clock.sleep(GATHER_MS);
      }
  }

  /** Whether this file, with these statistics, is all that the newest version has of a vessel-day. */
  async holds(day: VesselDay, file: Omit<NonNullable<TableChange['add']>, 'modifiedMs'>): Promise<boolean> {
    const { table, prefix } = this.#ports;
    await this.refresh();
    const [found, ...others] = table.filesOf(day.vessel, day.date);
    const isSame = `${prefix}${found?.path}` === file.key && found?.sizeBytes === file.sizeBytes;
    if (!isSame || others.length > 0) return false;
    // If the statistics cannot be read, the file is replaced, and the day is published.
    return (await unlessDamaged(this.#digestOf(found))) === statisticsDigest(file.stats);
  }

  /**
   * Commit a vessel-day, with others that are ready: its version. Throws what `checkFence` throws, CommitFailedError
   * when the table has other files of the day than were to be replaced, CommitUnknownError.
   */
  commit(commit: DayCommit): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.push({ ...commit, seenAt: commit.change.since, resolve, reject });
    this.#committing ??= this.#commitAll();
    return promise;
  }

  /** The version with a fenced predecessor's change; undefined: it is not in the table, and never will be. */
  async settle(day: VesselDay, change: TableChange): Promise<number | undefined> {
    const { table } = this.#ports;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await this.refresh();
      const found = this.#foundIn(day, change);
      if (found !== undefined || (await table.commit(table.version, 'FENCE', []))) return found;
    }
    throw this.#contended();
  }

  async close(): Promise<void> {
    await this.#committing;
    await this.#tidying;
  }

  async #commitAll(): Promise<void> {
    const { clock } = this.#ports;
    while (this.#waiting.length > 0) {
      const restMs = this.#lastMs + GATHER_MS - clock.monotonicMs();
      if (restMs > 0) await clock.sleep(restMs);
      this.#lastMs = clock.monotonicMs();
      const group = this.#waiting.splice(0, MAX_GROUP);
      try {
        await this.#commitGroup(group);
      } catch (error) {
        // It has no effect on members that were resolved before.
        for (const { reject } of group) reject(error);
      }
    }
    this.#committing = undefined;
  }

  async #commitGroup(group: readonly Member[]): Promise<void> {
    const { table, clock } = this.#ports;
    if (clock.monotonicMs() - this.#seenMs > IDLE_MS) await this.refresh();
    this.#seenMs = clock.monotonicMs();
    let unknown = 0;
    for (let [round, open] = [0, group]; round < MAX_ROUNDS; round++) {
      const base = table.version;
      open = await standing(await this.#untouched(open), base);
      if (open.length === 0) return;
      const actions = open.flatMap(({ day, change }) => this.#actionsOf(day, change));
      try {
        if (await table.commit(base, 'WRITE', actions)) {
          for (const { resolve } of open) resolve(base + 1);
          // Only `close` waits for a checkpoint.
          this.#tidying = this.#tidying.then(() => table.tidy());
          return;
        }
      } catch (error) {
        // It may have been written: the table is read before anything else is written.
        if (!(error instanceof CommitUnknownError) || ++unknown === MAX_UNKNOWN) throw error;
        this.#ports.log.warn({ table: this.#ports.prefix, error: messageOf(error) }, 'looking at the log');
      }
      await this.refresh();
    }
    throw this.#contended();
  }

  /** Those whose vessel-day is still what they thought; who is in the table already has been heard. */
  async #untouched(members: readonly Member[]): Promise<Member[]> {
    const untouched: Member[] = [];
    for (const member of members) {
      const { day, change, checkFence, resolve, reject } = member;
      const [expected, found] = [change.remove, this.#filesOf(day)].map((files) =>
        files.map(({ key }) => key).join(),
      );
      const done = this.#foundIn(day, change);
      if (done !== undefined) resolve(done);
      else if (found === expected) untouched.push(member);
      else {
        const text = `${formatVesselDay(day)}: its table has ${found || 'no file'} of it, and ${expected || 'none'} was to be replaced: look again`;
        await checkFence().then(() => reject(new CommitFailedError('object-changed', text)), reject);
      }
    }
    return untouched;
  }

  #filesOf({ vessel, date }: VesselDay): TableChange['remove'] {
    const { table, prefix } = this.#ports;
    return table.filesOf(vessel, date).map(({ path, sizeBytes }) => ({ key: `${prefix}${path}`, sizeBytes }));
  }

  /** The version by which a change is in the table. */
  #foundIn({ vessel, date }: VesselDay, { add }: TableChange): number | undefined {
    const { table, prefix } = this.#ports;
    const files = table.filesOf(vessel, date);
    if (add === null) return files.length === 0 ? table.version : undefined;
    return files.find(({ path }) => `${prefix}${path}` === add.key)?.addedIn;
  }

  #actionsOf({ vessel, date }: VesselDay, { remove, add }: TableChange): Action[] {
    const { prefix, table } = this.#ports;
    const common = { partitionValues: { vessel, date }, dataChange: true };
    const pathOf = (key: string) => key.slice(prefix.length);
    const actions: Action[] = remove.map(({ key, sizeBytes }) => ({
      remove: { path: pathOf(key), size: sizeBytes, deletionTimestamp: table.nowMs(), ...common },
    }));
    if (add !== null) {
      const { key, sizeBytes: size, modifiedMs: modificationTime, stats } = add;
      actions.push({ add: { path: pathOf(key), size, modificationTime, stats, ...common } });
    }
    return actions;
  }

  #contended(): CommitFailedError {
    return new CommitFailedError(
      'commit-contended',
      `${this.#ports.prefix}_delta_log: others have won ${MAX_ROUNDS} versions in a row; run again`,
    );
  }
}

/** Those whose claim stands, after `version` was seen; one look at a claim each, but for those just written. */
async function standing(members: readonly Member[], version: number): Promise<Member[]> {
  const standing: Member[] = [];
  await forEachAtOnce(members, LOOKS_AT_ONCE, async (member) => {
    if (member.seenAt >= version) return void standing.push(member);
    try {
      await member.checkFence();
      standing.push({ ...member, seenAt: version });
    } catch (error) {
      member.reject(error);
    }
  });
  return standing;
}
