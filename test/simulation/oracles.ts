/**
 * What a reader could have seen at any moment of a history, and what overtaken processes did: asked after every change of the
 * lake, in its order. The numbers are those of live.ts.
 */
import type { ClaimFile, Receipt } from '../../src/core/model/index.ts';
import { LogOracle } from './log-oracle.ts';
import { JOB } from './process.ts';
import { type Content, NOTHING, readObject, TableReader } from './reader.ts';
import type { Change, World } from './world.ts';

const OBJECT = /^m\/vessel=(IMO\d{7})\/date=([\d-]{10})\/([^/]+)\.parquet$/;
const ENTRY = /^m\/_delta_log\/(\d{20})\.json$/;
const RECEIPT = /^_ledger\/m\/date=([\d-]{10})\/vessel=(IMO\d{7})\.json$/;
const LOG = /^m\/_delta_log\//;
const DETAIL = /^_detail\/m\//;
const CLAIM = /^_checkpoints\/m\/date=([\d-]{10})\/vessel=(IMO\d{7})\/(\d+)\.json$/;
/** What stays whatever becomes of the days. */
const KEPT = /^_lake\.json$|^_ledger\/|^_accepted\/|^_asked\/|^_index\/|\/_delta_log\//;
const DAY_MS = 86_400_000;

export class OracleError extends Error {}

/** A draft that some claim has: who may publish it, and what it was counted against. */
interface Draft {
  epoch: number;
  readonly askedMs: number;
}

interface Visible {
  readonly content: Content;
  /** Which of the truths of the day it is. */
  readonly at: number;
  readonly epoch: number;
}

export class Oracles {
  readonly #world: World;
  readonly #objects = new Map<string, Uint8Array>();
  readonly #drafts = new Map<string, Draft>();
  readonly #claims = new Map<string, ClaimFile>();
  readonly receipts = new Map<string, Receipt>();
  readonly #visible = new Map<string, Visible>();
  readonly table = new TableReader();
  readonly log: LogOracle;
  /** Of files of drafts, and epochs of them: at which version of the table the attempt was fenced. */
  readonly #fencedAt = new Map<string, number>();
  #layout: string | undefined;

  constructor(world: World) {
    this.#world = world;
    this.log = new LogOracle(world.history.log?.entriesMs);
  }

  get layout(): string | undefined {
    return this.#layout;
  }

  bytesOf(key: string): Uint8Array | undefined {
    return this.#objects.get(key);
  }

  #claimsOf(day: string): ClaimFile[] {
    const isOfDay = (key: string) => CLAIM.exec(key)?.slice(1, 3).reverse().join(' ') === day;
    return [...this.#claims].flatMap(([key, file]) => (isOfDay(key) ? [file] : []));
  }

  hasClaim(day: string): boolean {
    return this.#claimsOf(day).length > 0;
  }

  /** Has an attempt published the day, or found nothing to change, and not said so? Or may it have? */
  isDraftPublished(day: string): boolean {
    const { epoch, startedAt } = this.receipts.get(day)!;
    const isSilent = ({ epoch: own, sealed }: ClaimFile) =>
      own > epoch && (sealed?.upload === null || sealed?.draft.startedAt === startedAt);
    return (this.#visible.get(day)?.epoch ?? 0) > epoch || this.#claimsOf(day).some(isSilent);
  }

  /** Is there a claim with the very draft that became the receipt? Without the receipt whoever goes on writes it again. */
  hasOwnDraft(day: string): boolean {
    const { epoch } = this.receipts.get(day)!;
    return this.#claimsOf(day).some((file) => file.epoch === epoch && file.sealed !== null);
  }

  /** Throws OracleError. */
  async take(change: Change): Promise<void> {
    try {
      await this.#take(change);
    } catch (error) {
      throw new OracleError(`${change.by} at ${change.atMs} ms, ${change.key}: ${(error as Error).message}`);
    }
  }

  async #take(change: Change): Promise<void> {
    const { key, bytes } = change;
    if (key === '') return this.#takeAbort(change.nonce!, change.by);
    const before = this.#objects.get(key);
    if (bytes === undefined) this.#objects.delete(key);
    else this.#objects.set(key, bytes);
    const text = () => Buffer.from(bytes!).toString();
    let match = CLAIM.exec(key);
    if (match) return this.#takeClaim(`${match[2]} ${match[1]}`, change, bytes && JSON.parse(text()));
    match = RECEIPT.exec(key);
    if (match) return this.#takeReceipt(`${match[2]} ${match[1]}`, bytes && JSON.parse(text()));
    if (LOG.test(key)) await this.log.take(change, this.table);
    if (DETAIL.test(key) && bytes === undefined) throw new Error('a detail is removed');
    match = ENTRY.exec(key);
    if (match) return await this.#takeEntry(Number(match[1]), change, before);
    match = OBJECT.exec(key);
    if (match) return await this.#takeObject(`${match[1]} ${match[2]}`, change);
    if (key === '_lake.json') await this.#takeLayout(JSON.parse(text()).layout, change.atMs);
  }

  /** 5: whoever was overtaken writes nothing over the word that says so, and nothing once another has gone on. */
  #takeClaim(day: string, { key, by, atMs }: Change, file: ClaimFile | undefined): void {
    const before = this.#claims.get(key);
    if (file === undefined) {
      this.#claims.delete(key);
      if (before) this.#expectOver(day, before, by, atMs);
      return;
    }
    if (before?.fencedBy !== undefined && before.attempt === file.attempt && file.fencedBy === undefined)
      throw new Error(`5: attempt ${file.epoch} was overtaken by ${before.fencedBy}, and writes on`);
    const isOwners = before?.attempt === file.attempt && before.fencedBy === file.fencedBy;
    if (isOwners && !this.#isEnded(day, file)) this.#expectNobodyAfter(day, file.epoch, 'writes on');
    if (file.fencedBy !== undefined && before?.fencedBy === undefined && file.sealed?.table?.add)
      this.#fencedAt.set(`${file.sealed.table.add.key} ${file.epoch}`, this.table.version);
    this.#claims.set(key, file);
    const { sealed, epoch } = file;
    if (!sealed) return;
    const askedAt = sealed.draft.source?.askedAt ?? sealed.draft.startedAt;
    const askedMs = this.#world.readClocks.get(Date.parse(askedAt)) ?? Number.NEGATIVE_INFINITY;
    for (const name of [sealed.upload?.nonce, sealed.table?.add?.key])
      if (name !== undefined) {
        const draft = this.#drafts.get(name) ?? { epoch, askedMs };
        draft.epoch = Math.max(draft.epoch, epoch);
        this.#drafts.set(name, draft);
      }
  }

  /** 5, 8: a claim goes by its owner, or because another has taken over, or has published, or for its age. */
  #expectOver(day: string, file: ClaimFile, by: string, atMs: number): void {
    const isOver = file.fencedBy !== undefined || this.#isEnded(day, file);
    // Where a removal cannot be conditional one that comes late takes what is there.
    if (isOver || file.owner.host === by || this.#world.history.abilities !== 'all') return;
    if (!by.includes('gc-')) throw new Error(`5: the claim of attempt ${file.epoch} goes, which stands`);
    const writtenMs = this.#world.readClocks.get(file.heartbeatMs);
    if (this.#world.isClockRight(by) && writtenMs !== undefined && atMs - writtenMs < DAY_MS)
      throw new Error(`8: a claim goes that was written ${Math.round((atMs - writtenMs) / 1000)} s ago`);
  }

  #isEnded(day: string, { epoch }: Pick<ClaimFile, 'epoch'>): boolean {
    return (this.receipts.get(day)?.epoch ?? 0) >= epoch;
  }

  /** 5: no later attempt stands that has a checkpoint, or a draft; but for the draft begun at `startedAt`, which it has inherited. */
  #expectNobodyAfter(day: string, epoch: number, what: string, startedAt?: string): void {
    const hasGoneOn = ({ fencedBy, checkpoint, sealed }: ClaimFile) =>
      fencedBy === undefined && (sealed ? sealed.draft.startedAt !== startedAt : checkpoint !== null);
    const after = this.#claimsOf(day).find((file) => file.epoch > epoch && hasGoneOn(file));
    if (after) throw new Error(`5: attempt ${epoch} ${what}, and attempt ${after.epoch} has gone on`);
  }

  /** 8: nobody cleans up an upload that an attempt may go on with. */
  #takeAbort(nonce: string, by: string): void {
    const isOf = ({ sealed, checkpoint }: ClaimFile) =>
      [sealed?.upload?.nonce, checkpoint?.upload?.nonce].includes(nonce);
    const owner = [...this.#claims.values()].find((file) => file.fencedBy === undefined && isOf(file));
    if (owner && by.includes('gc-'))
      throw new Error(`8: the upload of attempt ${owner.epoch} is aborted, which stands`);
  }

  /** 4, 5: a receipt tells of what is there, and is never older than the one before. */
  #takeReceipt(day: string, receipt: Receipt | undefined): void {
    if (receipt === undefined) throw new Error('4: a receipt is removed');
    this.#expectNobodyAfter(day, receipt.epoch, 'says that it has published', receipt.startedAt);
    const before = this.receipts.get(day);
    if (before && receipt.epoch < before.epoch)
      throw new Error(`5: the receipt of attempt ${receipt.epoch} takes the place of ${before.epoch}'s`);
    this.receipts.set(day, receipt);
    const seen = this.#visible.get(day);
    const isLater = (seen?.epoch ?? 0) > receipt.epoch;
    const rows = seen?.content.lines.length ?? 0;
    if (!isLater && rows !== receipt.rows)
      throw new Error(`4: the receipt says ${receipt.rows} rows, and ${rows} can be read`);
    if (this.#layout !== 'delta' || receipt.object === null || isLater) return;
    const path = receipt.object.key.slice(JOB.length + 1);
    const { version = -1 } = receipt.table ?? {};
    if (!this.table.files.has(path))
      throw new Error(`3: the receipt names ${path}, which the table does not have`);
    if (receipt.table && (this.table.addedIn.get(path) ?? Number.POSITIVE_INFINITY) > version)
      throw new Error(`3: version ${version} does not have ${path}`);
  }

  async #takeEntry(version: number, change: Change, before: Uint8Array | undefined): Promise<void> {
    const { atMs, bytes } = change;
    if (bytes === undefined) return;
    if (before !== undefined) throw new Error('3: an entry of the log is written over');
    // Below a checkpoint nobody reads it.
    if (version <= this.table.version && this.log.newest > version) return;
    for (const day of this.table.take(version, Buffer.from(bytes).toString(), atMs))
      if (this.#layout === 'delta') await this.#see(day, atMs, this.#epochOfTable(day));
  }

  #epochOfTable(day: string): number | undefined {
    const file = this.table.fileOf(day);
    return file && this.#drafts.get(`${JOB}/${file.path}`)?.epoch;
  }

  async #takeObject(day: string, change: Change): Promise<void> {
    const { key, bytes, atMs, nonce } = change;
    const path = key.slice(JOB.length + 1);
    if (bytes === undefined) return this.#expectUnwanted(key, path, atMs);
    if (this.#layout === 'delta') return;
    await this.#see(day, atMs, this.#drafts.get(nonce ?? '')?.epoch, nonce);
  }

  /** 8: what goes is nobody's any more. */
  #expectUnwanted(key: string, path: string, atMs: number): void {
    if (this.#layout !== 'delta') throw new Error('8: an object is removed from a plain lake');
    if (this.table.files.has(path)) throw new Error('8: a file of the table is removed');
    const leftMs = this.table.leftMs.get(path);
    if (leftMs !== undefined && atMs - leftMs < 7 * DAY_MS)
      throw new Error(`8: a file is removed that readers had ${Math.round((atMs - leftMs) / 1000)} s ago`);
    const owner = [...this.#claims.values()].find(({ sealed }) => sealed?.table?.add?.key === key);
    if (owner) throw new Error(`8: a file is removed that attempt ${owner.epoch} may still commit`);
  }

  async #takeLayout(layout: string, atMs: number): Promise<void> {
    const before = this.#layout;
    this.#layout = layout;
    if (before !== 'plain' || layout !== 'delta') return;
    for (const day of this.receipts.keys()) await this.#see(day, atMs, undefined);
  }

  /** What a reader sees of the day now. */
  async contentOf(day: string): Promise<Content> {
    const [vessel, date] = day.split(' ');
    const key =
      this.#layout === 'delta'
        ? this.table.fileOf(day) && `${JOB}/${this.table.fileOf(day)!.path}`
        : `${JOB}/vessel=${vessel}/date=${date}/data.parquet`;
    const bytes = key === undefined ? undefined : this.#objects.get(key);
    if (bytes === undefined && this.#layout === 'delta' && key !== undefined)
      throw new Error(`3: the table names ${key}, which is not there`);
    return bytes === undefined ? NOTHING : await readObject(bytes);
  }

  /** 8: the keys that the lake is to have, and no others. */
  wanted(): ReadonlySet<string> {
    const wanted = [...this.#objects.keys()].filter((key) => KEPT.test(key));
    for (const { object, detail } of this.receipts.values())
      for (const key of [object?.key, detail?.key]) if (key !== undefined) wanted.push(key);
    return new Set([...wanted, ...[...this.table.files.keys()].map((path) => `${JOB}/${path}`)]);
  }

  /** 1, 2, 5: the day is another one to its readers. */
  async #see(day: string, atMs: number, epoch: number | undefined, nonce?: string): Promise<void> {
    const content = await this.contentOf(day);
    const before = this.#visible.get(day);
    if (before?.content.digest === content.digest) {
      this.#visible.set(day, { ...before, epoch: Math.max(before.epoch, epoch ?? 0) });
      return;
    }
    const receiptEpoch = this.receipts.get(day)?.epoch ?? 0;
    if (epoch !== undefined && epoch <= receiptEpoch)
      throw new Error(`5: attempt ${epoch} publishes after ${receiptEpoch} has, and said so`);
    if (epoch !== undefined) this.#expectNobodyAfter(day, epoch, 'publishes');
    this.#expectNothingGone(before?.content, content, atMs);
    const file = this.#layout === 'delta' ? this.table.fileOf(day) : undefined;
    const draft = this.#drafts.get(nonce ?? (file ? `${JOB}/${file.path}` : ''));
    // What was on its way when it was overtaken is the version after the one that was seen.
    const fencedAt = file && this.#fencedAt.get(`${JOB}/${file.path} ${draft?.epoch}`);
    if (fencedAt !== undefined && this.table.version > fencedAt + 1)
      throw new Error(
        `5: attempt ${draft?.epoch}, overtaken at version ${fencedAt}, commits ${this.table.version}`,
      );
    const at = this.#truthOf(day, content, draft?.askedMs ?? Number.NEGATIVE_INFINITY, atMs, before?.at ?? 0);
    this.#visible.set(day, { content, at, epoch: epoch ?? before?.epoch ?? 0 });
  }

  /** 1: which of the source's truths it is: one of the time since it was counted, and not before the one that was seen. */
  #truthOf(day: string, content: Content, fromMs: number, toMs: number, least: number): number {
    const [vessel, date] = day.split(' ') as [string, string];
    const truths = this.#world.source.truths(vessel, date);
    for (const [at, { digest }] of truths.entries()) {
      const untilMs = truths[at + 1]?.sinceMs ?? Number.POSITIVE_INFINITY;
      if (at >= least && digest === content.digest && untilMs >= fromMs && truths[at]!.sinceMs <= toMs)
        return at;
    }
    const older = truths.findIndex(({ digest }) => digest === content.digest);
    const found = `${content.lines.length} readings of ${day}`;
    if (older === -1) throw new Error(`1: the source never had just these ${found}`);
    throw new Error(`1: readers see ${found} of state ${older}, of ${least} before, asked at ${fromMs} ms`);
  }

  /** 2: no published reading goes unless somebody allows it. */
  #expectNothingGone(before: Content | undefined, now: Content, atMs: number): void {
    if (before === undefined || this.#world.shrinkAllowedMs() <= atMs) return;
    const [was, is] = [countsOf(before), countsOf(now)];
    for (const [series, count] of was)
      if ((is.get(series) ?? 0) < count)
        throw new Error(`2: ${count} readings of ${series} were published, now ${is.get(series) ?? 0}`);
  }
}

function countsOf({ lines }: Content): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const series = line.split('\t')[1]!;
    counts.set(series, (counts.get(series) ?? 0) + 1);
  }
  return counts;
}
