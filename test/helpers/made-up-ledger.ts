/**
 * A made-up ledger of a fleet with vessel-days in every state, the same every time: for lakes of a size that no test
 * could export. What is in it follows from the vessel's and the date's number alone, so that a test can say what each
 * cell must be (`stateOf`) without asking the code that it tests.
 */
import { closeSync, fstatSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type {
  FewerSeriesWarning,
  Job,
  Note,
  ProcessId,
  Receipt,
  VesselDay,
} from '../../src/core/model/index.ts';
import { addDays, datesBetween } from '../../src/core/model/index.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { jsonBytes } from '../../src/lake/json.ts';
import {
  acceptedKey,
  claimKey,
  indexKey,
  indexPieceKey,
  LAKE_KEY,
  noteKey,
  receiptKey,
} from '../../src/lake/keys.ts';
import { packIndex } from '../../src/lake/ledger/index-file.ts';
import type { IndexRow } from '../../src/lake/ledger/indexed-receipt.ts';
import { toIndexRow } from '../../src/lake/ledger/indexed-receipt.ts';
import { fileVersion } from '../../src/store/local/walk.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { CellState } from '../../src/web/answers.ts';
import { makeReceipt, vesselIds } from './ledger.ts';

/** The job's file; `MADE_UP_JOB` is what it says. */
export const MADE_UP_JOB_FILE = `dataset: measurements
vessels: { discover: "flat/*/*" }
select: ["flat/{vessel}/*"]
since: "2020-01-01"
`;
export const MADE_UP_JOB: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: { discover: 'flat/*/*' },
  select: ['flat/{vessel}/*'],
  since: '2020-01-01',
  transport: 'ndjson',
  verify: 'exact',
};
const API_VERSION = '2026-09-10';
/** PID 0 is nobody's. */
const NOBODY: ProcessId = { host: 'host-that-is-gone', pid: 0 };

export interface MadeUpOptions {
  /** Default: 1,000. */
  readonly vessels?: number;
  /** Default: 365. */
  readonly days?: number;
  /** Today (UTC), which is the last date and not due; default: 2026-06-30. */
  readonly today?: string;
  /** Who works on the days that are `running`, at `nowMs`; default: this process. */
  readonly self?: ProcessId;
}

export interface MadeUpLedger {
  readonly job: Job;
  readonly vessels: readonly string[];
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Noon of today. */
  readonly nowMs: number;
  /** What each cell is, to those who have no queue. */
  stateOf(vessel: string, date: string): CellState;
  /** How many cells are in each state. */
  readonly totals: Readonly<Record<CellState, number>>;
}

type Look = Exclude<CellState, 'queued' | 'warned'>;
interface Cell {
  readonly state: Look;
  /** What lies in the lake: `damaged` is a receipt that cannot be read. */
  readonly receipt: 'none' | 'right' | 'stale' | 'empty' | 'damaged';
  /** `late`: after the receipt; `early`: overtaken by it. */
  readonly note?: { readonly state: Note['state']; readonly when: 'late' | 'early' };
  readonly claim?: 'live' | 'left';
}

const published = { state: 'published', receipt: 'right' } as const;
const missing = { state: 'missing', receipt: 'none' } as const;
const failed = { state: 'failed', when: 'late' } as const;

/** Of every 1,000 numbers the first few; the others are published. */
function cellOf(vessel: number, day: number, days: number): Cell {
  const daysAgo = days - 1 - day;
  if (daysAgo === 0) return { state: 'not-due', receipt: 'none' };
  if (daysAgo === 1 && vessel % 20 === 7) return { state: 'running', receipt: 'none', claim: 'live' };
  if (daysAgo === 1 && vessel % 20 === 9) return { state: 'missing', receipt: 'none', claim: 'left' };
  // Vessels that came late, and vessels that were away for a month.
  if (vessel % 50 === 0 && day < days / 3) return missing;
  if (vessel % 97 === 3 && daysAgo > 20 && daysAgo <= 50) return missing;
  const number = (vessel * 7_919 + day * 104_729 + ((vessel * day) % 613) * 31) % 1_000;
  if (number < 3) return { state: 'failed', receipt: 'none', note: failed };
  if (number < 5) return { state: 'failed', receipt: 'right', note: failed };
  if (number < 7) return { state: 'refused', receipt: 'right', note: { state: 'refused', when: 'late' } };
  if (number < 8) return { state: 'waiting', receipt: 'none', note: { state: 'waiting', when: 'late' } };
  if (number < 10) return missing;
  if (number < 20) return { state: 'empty', receipt: 'empty' };
  if (number < 21) return { state: 'published', receipt: 'right', note: { state: 'failed', when: 'early' } };
  if (number < 22) return { state: 'failed', receipt: 'damaged' };
  if (number < 300 && daysAgo > (days * 4) / 5) return { state: 'stale', receipt: 'stale' };
  return published;
}

/** Vessels whose newest receipt has a warning; that of every second one is accepted. */
const hasWarning = (vessel: number) => vessel % 10 === 1;
const isWarningAccepted = (vessel: number) => vessel % 20 === 1;

/** What is in the ledger, without writing it. */
export function madeUpLedger(options: MadeUpOptions = {}): MadeUpLedger {
  const { vessels, dates, nowMs } = sizesOf(options);
  const [vesselAt, dateAt] = [vessels, dates].map((all) => new Map(all.map((one, at) => [one, at])));
  const look = (vessel: number, day: number): CellState => {
    const { state } = cellOf(vessel, day, dates.length);
    const isOpen = hasWarning(vessel) && !isWarningAccepted(vessel);
    return isOpen && state === 'published' && day === newestDay(vessel, dates.length) ? 'warned' : state;
  };
  const totals = Object.fromEntries(ALL_STATES.map((state) => [state, 0])) as Record<CellState, number>;
  for (const vessel of vessels.keys()) for (const day of dates.keys()) totals[look(vessel, day)]++;
  return {
    ...{ job: MADE_UP_JOB, vessels, nowMs, totals },
    from: dates[0]!,
    to: addDays(dates.at(-1)!, 1),
    stateOf: (vessel, date) => look(vesselAt!.get(vessel)!, dateAt!.get(date)!),
  };
}

const ALL_STATES: readonly CellState[] = [
  ...(['published', 'warned', 'empty', 'missing', 'queued', 'stale'] as const),
  ...(['failed', 'refused', 'waiting', 'running', 'not-due', 'not-asked-for'] as const),
];

function sizesOf({ vessels = 1_000, days = 365, today = '2026-06-30' }: MadeUpOptions) {
  return {
    vessels: vesselIds(vessels),
    dates: datesBetween(addDays(today, 1 - days), addDays(today, 1)),
    nowMs: Date.parse(`${today}T12:00:00.000Z`),
  };
}

/** The last day that has a receipt which can be read. */
function newestDay(vessel: number, days: number): number {
  for (let day = days - 1; day >= 0; day--)
    if (!['none', 'damaged'].includes(cellOf(vessel, day, days).receipt)) return day;
  return -1;
}

type File = { readonly key: string; readonly bytes: Uint8Array; readonly receipt?: Receipt };

/** The files of the ledger by date and then vessel, a date at a time; without an index. */
function* madeUpFiles(options: MadeUpOptions): Generator<File[]> {
  const { vessels, dates, nowMs } = sizesOf(options);
  const { self = thisProcess() } = options;
  const hash = settingsHash(MADE_UP_JOB, API_VERSION);
  const lake = { lakeVersion: 1, layout: 'plain', createdAt: new Date(nowMs).toISOString() };
  yield [{ key: LAKE_KEY, bytes: jsonBytes(lake) }];
  for (const [dayNumber, date] of dates.entries())
    yield [...vessels.entries()].flatMap(([number, vessel]) => {
      const day = { job: MADE_UP_JOB.name, vessel, date };
      const cell = cellOf(number, dayNumber, dates.length);
      const isNewest = hasWarning(number) && dayNumber === newestDay(number, dates.length);
      return [
        ...receiptFiles(day, cell, hash, isNewest ? warningOf(dates[0]!, date) : undefined),
        ...(cell.note ? [noteFile(day, cell.note)] : []),
        ...(cell.claim ? [claimFile(day, cell.claim, { self, nowMs, hash })] : []),
        ...(isNewest && isWarningAccepted(number) ? [acceptedFile(day, nowMs)] : []),
      ];
    });
}

function receiptFiles(
  day: VesselDay,
  { receipt }: Cell,
  hash: string,
  remark: FewerSeriesWarning | undefined,
): File[] {
  const key = receiptKey(day);
  if (receipt === 'none') return [];
  if (receipt === 'damaged') return [{ key, bytes: Buffer.from('{"receiptVersion":1,') }];
  const written = makeReceipt(day, {
    settingsHash: receipt === 'stale' ? '00000000000000aa' : hash,
    ...(receipt === 'empty' && { rows: 0 }),
    selectedSeries: 180,
    ...(remark && { remark }),
  });
  return [{ key, bytes: jsonBytes(written), receipt: written }];
}

function warningOf(first: string, since: string): FewerSeriesWarning {
  const comparedWith = { date: first, finishedAt: `${first}T23:00:12.000Z`, series: 183 };
  const names = ['Draught', 'Wind <b>speed</b>', 'Rudder angle'];
  return { kind: 'fewer-series', missing: 3, names, comparedWith, since };
}

const NOTE_TEXTS: Readonly<Record<Note['state'], readonly [code: string, message: string]>> = {
  failed: [
    'disagree',
    'series <img src=x onerror=alert(1)> at 07:00: 1,234 readings came, the source counts 1,236',
  ],
  refused: [
    'would-shrink',
    'the source counts 900,000 readings, 1,234,567 are published; --allow-shrink takes fewer',
  ],
  waiting: ['series-missing', '3 of 183 series are missing; published without them from tomorrow on'],
};

function noteFile(day: VesselDay, { state, when }: NonNullable<Cell['note']>): File {
  const [code, message] = NOTE_TEXTS[state];
  const at = `${when === 'late' ? addDays(day.date, 1) : day.date}T03:00:00.000Z`;
  const note: Note = { noteVersion: 1, ...day, state, code, message, at };
  return { key: noteKey(day), bytes: jsonBytes(note, 2) };
}

interface ClaimFacts {
  readonly self: ProcessId;
  readonly nowMs: number;
  readonly hash: string;
}

function claimFile(day: VesselDay, claim: 'live' | 'left', { self, nowMs, hash }: ClaimFacts): File {
  const isLive = claim === 'live';
  const file = {
    ...{ claimVersion: 1, epoch: 1, attempt: 'made-up', settingsHash: hash, checkpoint: null, sealed: null },
    owner: isLive ? self : NOBODY,
    // As by a clock that is fast: so they live for some minutes.
    heartbeatMs: isLive ? nowMs + 240_000 : nowMs - 3_600_000,
  };
  return { key: claimKey(day, 1), bytes: jsonBytes(file) };
}

function acceptedFile({ job, vessel }: VesselDay, nowMs: number): File {
  const at = new Date(nowMs).toISOString();
  return {
    key: acceptedKey(job, vessel),
    bytes: jsonBytes({ acceptedVersion: 1, job, vessel, series: 180, at }),
  };
}

/** How the receipts of a month are kept for faster reading: as one reader leaves it, as publishers do, or not at all. */
export type MadeUpIndex = 'whole' | 'pieces' | 'none';
/** As many as a publisher puts in one. */
const PIECE_RECEIPTS = 512;

/** Write a ledger into a folder, with plain calls and without fsync: 365,000 receipts in 40 s. */
export async function writeMadeUpFolder(
  dir: string,
  options: MadeUpOptions & { readonly index?: MadeUpIndex } = {},
): Promise<MadeUpLedger> {
  const { index = 'whole' } = options;
  const months = new Map<string, IndexRow[]>();
  for (const files of madeUpFiles(options)) {
    const folders = new Set(files.map(({ key }) => dirname(join(dir, key))));
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    for (const { key, bytes, receipt } of files) {
      const tag = writeNow(join(dir, key), bytes);
      if (receipt === undefined) continue;
      const month = receipt.date.slice(0, 7);
      const rows = months.get(month) ?? [];
      months.set(month, rows);
      rows.push(toIndexRow(receipt, { sizeBytes: bytes.length, tag }));
    }
    // Others in this process have their turn: a test runner, a server.
    await new Promise(setImmediate);
  }
  for (const [month, rows] of months)
    for await (const [key, bytes] of indexFiles(month, rows, index)) {
      mkdirSync(dirname(join(dir, key)), { recursive: true });
      writeFileSync(join(dir, key), bytes);
    }
  return madeUpLedger(options);
}

/** The version that the store gives it. */
function writeNow(path: string, bytes: Uint8Array): string {
  const file = openSync(path, 'w');
  try {
    writeSync(file, bytes);
    return fileVersion(fstatSync(file));
  } finally {
    closeSync(file);
  }
}

async function* indexFiles(
  month: string,
  rows: readonly IndexRow[],
  index: MadeUpIndex,
): AsyncGenerator<readonly [key: string, bytes: Uint8Array]> {
  const job = MADE_UP_JOB.name;
  if (index === 'whole') yield [indexKey(job, month), await packIndex(job, rows)];
  if (index !== 'pieces') return;
  for (let at = 0; at < rows.length; at += PIECE_RECEIPTS) {
    const name = `20260101000000000-made-up-${String(at).padStart(6, '0')}`;
    yield [indexPieceKey(job, month, name), await packIndex(job, rows.slice(at, at + PIECE_RECEIPTS))];
  }
}

/** The same through a store, without an index: for small ledgers. */
export async function writeMadeUpLake(
  store: Pick<ObjectStore, 'put'>,
  options: MadeUpOptions,
): Promise<MadeUpLedger> {
  for (const files of madeUpFiles(options))
    await Promise.all(files.map(({ key, bytes }) => store.put(key, bytes)));
  return madeUpLedger(options);
}
