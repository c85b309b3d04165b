/** Histories of fleets that have failed, as short as they were made: what they found was fixed. */
import { addDays } from '../../src/core/model/index.ts';
import { BACKFILL_FROM, type FleetHistory, type FleetProcess } from './fleet-history.ts';
import { NO_SERVICE_FAULTS } from './service.ts';
import { NO_STORE_FAULTS } from './store.ts';

const BASE: Omit<FleetHistory, 'seed' | 'processes'> = {
  ...{ layout: 'plain', vessels: ['IMO9321483'], people: [], losses: [], illnesses: [], changes: [] },
  dates: Array.from({ length: 10 }, (_, day) => addDays(BACKFILL_FROM, day)),
  ...{ store: NO_STORE_FAULTS, service: NO_SERVICE_FAULTS, twice: 0, undelivered: 0, lasting: 'none' },
};
const process = (name: string, role: FleetProcess['role'], atMs: number, aheadMs = 0): FleetProcess => ({
  ...{ name, role, atMs, aheadMs, select: 0 },
});

interface FoundInFleet {
  readonly what: string;
  readonly history: FleetHistory;
}

export const FOUND_IN_FLEETS: readonly FoundInFleet[] = [
  {
    what: 'status said published of a day that was refused after a worker with a clock nine days ahead had published it (seed 6)',
    history: {
      ...{ ...BASE, seed: 6 },
      processes: [process('scheduler-2', 'scheduler', 7_499), process('worker-0', 'worker', 0, 771_101_400)],
      changes: [{ atMs: 30_875_487, kind: 'leaves', series: 2, date: '2026-01-06', at: 87_258 }],
    },
  },
  {
    what: 'a worker with a clock a week ahead delayed a vessel-day for a week (seed 135)',
    history: {
      ...{ ...BASE, seed: 135 },
      processes: [
        process('scheduler-0', 'scheduler', 0, 641_384_505),
        process('worker-0', 'worker', 0, 597_774_727),
      ],
    },
  },
  {
    what: 'a scheduler with a clock nine days behind ended a backfill of which nothing was due yet by it (seed 203)',
    history: {
      ...{ ...BASE, seed: 203 },
      processes: [process('scheduler-0', 'scheduler', 0, -9 * 86_400_000), process('worker-0', 'worker', 0)],
      people: [
        { kind: 'backfill', atMs: 3_600_000, vessel: 'IMO9321483', date: '2026-01-05', allowShrink: false },
      ],
    },
  },
];
