/** Whatever lake and queue have of a vessel-day, `status`, the map and the day's own page say the same of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stateOf } from '../../../src/audit/status/cells.ts';
import { readJobStatus } from '../../../src/audit/status/job-status.ts';
import { createStatusMemory } from '../../../src/audit/status/status-memory.ts';
import type { Job, VesselDay } from '../../../src/core/model/index.ts';
import { datesBetween, formatVesselDay, silentLog } from '../../../src/core/model/index.ts';
import { settingsHash } from '../../../src/core/plan/settings-hash.ts';
import { jsonBytes } from '../../../src/lake/json.ts';
import { claimKey, noteKey, receiptKey } from '../../../src/lake/keys.ts';
import { writeNote } from '../../../src/lake/ledger/ledger.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { CELL_LETTERS } from '../../../src/web/answers.ts';
import { readCoverage } from '../../../src/web/coverage-map.ts';
import type { WebPorts } from '../../../src/web/ports.ts';
import { answerVesselDay } from '../../../src/web/vessel-day.ts';
import { createKnownSeries } from '../../../src/web/vessel-day-details.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createMemoryStore } from '../../helpers/memory-store.ts';

const [FROM, TO] = ['2026-06-27', '2026-07-01'];
const NOW_MS = Date.parse('2026-06-30T12:00:00Z');
const API = '2026-09-10';
const DATES = datesBetween(FROM, TO);
const VESSELS = ['IMO9000001', 'IMO9000002', 'IMO9000003'];
const JOB: Job = {
  ...{ name: 'm', dataset: 'measurements', vessels: VESSELS, select: ['flat/{vessel}/*'] },
  ...{ transport: 'ndjson', verify: 'exact', since: '2026-06-28' },
};
const GARBAGE = Buffer.from('{"receiptVersion":1');
const [HERE, ELSEWHERE] = [
  { host: 'here', pid: 1 },
  { host: 'there', pid: 7 },
];

const facts = fc.record({
  receipt: fc.constantFrom('none', 'rows', 'empty', 'stale', 'unproven', 'warned', 'damaged'),
  note: fc.constantFrom('none', 'none', 'failed', 'refused', 'waiting', 'damaged'),
  isNoteOlder: fc.boolean(),
  claim: fc.constantFrom('none', 'none', 'live', 'left', 'damaged'),
  queued: fc.constantFrom('none', 'none', 'in-queue', 'failed'),
});
type Facts = typeof facts extends fc.Arbitrary<infer T> ? T : never;

async function write(store: ObjectStore, day: VesselDay, { receipt, note, isNoteOlder, claim }: Facts) {
  if (receipt === 'damaged') await store.put(receiptKey(day), GARBAGE);
  else if (receipt !== 'none')
    await writeReceipt(
      store,
      makeReceipt(day, {
        settingsHash: receipt === 'stale' ? 'another' : settingsHash(JOB, API),
        ...(receipt === 'unproven' && { proof: 'unproven' as const }),
        rows: receipt === 'empty' ? 0 : 5,
        ...(receipt === 'warned' && {
          remark: {
            ...{ kind: 'fewer-series', missing: 1, names: ['a'], since: FROM },
            comparedWith: { date: FROM, finishedAt: '2026-06-30T00:00:00.000Z', series: 3 },
          },
        }),
      }),
    );
  if (note === 'damaged') await store.put(noteKey(day), GARBAGE);
  else if (note !== 'none')
    await writeNote(store, {
      ...{ noteVersion: 1, ...day, state: note, code: 'server-error', message: 'so it is' },
      at: isNoteOlder ? `${day.date}T01:00:00.000Z` : '2026-06-30T23:30:00.000Z',
    });
  if (claim === 'damaged') await store.put(claimKey(day, 2), GARBAGE);
  else if (claim !== 'none')
    await store.put(
      claimKey(day, 2),
      jsonBytes({
        ...{ claimVersion: 1, epoch: 2, attempt: 'a', settingsHash: 'x', checkpoint: null, sealed: null },
        ...{ owner: ELSEWHERE, heartbeatMs: claim === 'live' ? NOW_MS : NOW_MS - 3_600_000 },
      }),
    );
}

/** A queue that has these vessel-days, as far as the page asks it. */
function queueOf(days: ReadonlyMap<string, Facts>): NonNullable<WebPorts['fleet']> {
  const named = (queued: Facts['queued']) =>
    new Set([...days].filter(([, one]) => one.queued === queued).map(([id]) => id));
  return {
    redis: { status: 'ready' },
    queue: {
      names: async () => ({ queued: named('in-queue'), failed: named('failed') }),
      async facts(day: VesselDay) {
        const queued = days.get(formatVesselDay(day))?.queued;
        const state = queued === 'failed' ? 'failed' : 'delayed';
        return queued === 'none' ? undefined : { state, day: null, attempts: 0, failedReason: '' };
      },
    },
  } as unknown as NonNullable<WebPorts['fleet']>;
}

test('status, the map and the page of a day say the same state', async () => {
  const count = VESSELS.length * DATES.length;
  const lakes = fc.array(facts, { minLength: count, maxLength: count });
  await fc.assert(
    fc.asyncProperty(lakes, async (all) => {
      const store = createMemoryStore();
      const names = DATES.flatMap((date) => VESSELS.map((vessel) => ({ job: 'm', vessel, date })));
      const days = new Map(names.map((day, index) => [formatVesselDay(day), all[index]!]));
      for (const day of names) await write(store, day, days.get(formatVesselDay(day))!);
      const ports: WebPorts = {
        ...{ store, clock: createManualClock(NOW_MS), jobs: [JOB], log: silentLog, self: HERE },
        ...{ apiVersion: API, version: '0', fleet: queueOf(days) },
      };
      const { cells, warnings } = await readJobStatus(ports, JOB, { from: FROM, to: TO, vessels: VESSELS });
      const warned = new Set(warnings.map(({ day }) => formatVesselDay(day)));
      const range = { job: JOB, from: FROM, to: TO, firstDate: undefined };
      const queue = await ports.fleet!.queue.names(1_000);
      const map = await readCoverage(ports, { ...range, queue, memory: createStatusMemory() });
      const page = { ...ports, knownSeries: createKnownSeries(ports) };
      for (const cell of cells) {
        const { day } = cell;
        const id = formatVesselDay(day);
        const { queued } = days.get(id)!;
        const isWarned = warned.has(id);
        const { state } = stateOf(cell, { queued: queued === 'none' ? undefined : queued, isWarned });
        // `status` does not ask the queue: what it says else is what all say.
        if (!isWarned && queued === 'none') expect(state, id).toBe(cell.state);
        const at = VESSELS.indexOf(day.vessel) * DATES.length + DATES.indexOf(day.date);
        expect(map.cells[at], id).toBe(CELL_LETTERS[state]);
        const answer = await answerVesselDay(page, JOB, day);
        // The page of a day reads the receipts of that day and of the next, and a later one may be without the warning.
        if (isWarned || answer.state !== 'warned') expect(answer.state, id).toBe(state);
        if (state === 'failed' && cell.state === 'failed') expect(answer.note?.code, id).toBe(cell.code);
      }
    }),
    { numRuns: 40 },
  );
});
