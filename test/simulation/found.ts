/** Histories that have failed, as short as they were made: what they found was fixed. */
import type { Act, History } from './history.ts';
import { NO_SERVICE_FAULTS } from './service.ts';
import { NO_STORE_FAULTS } from './store.ts';

interface Found {
  readonly what: string;
  readonly history: History;
}

const PLAIN = {
  force: false,
  allowShrink: false,
  takeover: false,
  select: 0,
  concurrency: 1,
  aheadMs: 0,
} as const;
const act = (kind: Act['kind'], atMs: number, more: Partial<Act> = {}): Act => ({
  ...PLAIN,
  ...{ name: `${kind}-${atMs}`, kind, atMs },
  ...more,
});
const BASE: Omit<History, 'seed' | 'acts'> = {
  ...{ profile: 'upkeep', layout: 'plain', vessels: ['IMO9321483'], dates: ['2026-01-05'] },
  ...{ sizes: { rowGroupRows: 4, partBytes: 3_000 }, store: NO_STORE_FAULTS, service: NO_SERVICE_FAULTS },
  abilities: 'all',
  changes: [],
};

export const FOUND: readonly Found[] = [
  {
    what: 'a conversion that was killed while it took over a claim left one that nobody could read (seed 237)',
    history: {
      ...{ ...BASE, seed: 237 },
      acts: [act('run', 0, { killAfter: 20 }), act('convert', 900_000, { killAfter: 12 })],
    },
  },
  {
    what: "a removal of a predecessor's claim that came late took another's, whose epoch was the same (seed 1)",
    history: {
      ...{ ...BASE, seed: 1, profile: 'plain' },
      store: { ...NO_STORE_FAULTS, doubled: 100 },
      service: { ...NO_SERVICE_FAULTS, refused: 100 },
      acts: [act('run', 660_000), act('run', 690_000), act('run', 1_050_000)],
    },
  },
  {
    what: 'a detail of a day that was found unchanged stayed without its receipt where the next export was refused (seed 47)',
    history: {
      seed: 47,
      profile: 'delta',
      dates: ['2026-01-03', '2026-01-04'],
      abilities: 'all',
      layout: 'delta',
      acts: [
        {
          name: 'run-0',
          kind: 'run',
          atMs: 2038,
          aheadMs: 3523,
          force: false,
          allowShrink: true,
          takeover: false,
          select: 1,
          concurrency: 3,
          stop: { step: 'removes claims', nth: 3, isSent: true, forMs: 3600000 },
        },
        {
          name: 'run-1',
          kind: 'run',
          atMs: 3592955,
          aheadMs: 0,
          force: true,
          allowShrink: false,
          takeover: false,
          select: 0,
          concurrency: 3,
        },
        {
          name: 'reconcile-2',
          kind: 'reconcile',
          atMs: 2094004,
          aheadMs: 0,
          killAfter: 29,
          force: false,
          allowShrink: true,
          takeover: false,
          select: 1,
          concurrency: 3,
        },
        {
          name: 'run-3',
          kind: 'run',
          atMs: 2047,
          aheadMs: 1801,
          force: true,
          allowShrink: false,
          takeover: true,
          select: 0,
          concurrency: 1,
        },
        {
          name: 'run-4',
          kind: 'run',
          atMs: 1101901,
          aheadMs: 1272,
          killAfter: 52,
          force: false,
          allowShrink: true,
          takeover: false,
          select: 0,
          concurrency: 2,
        },
      ],
      vessels: ['IMO9321483'],
      sizes: { rowGroupRows: 1000, partBytes: 1048576 },
      service: { unreachable: 0, refused: 0, cut: 0, silent: 0, miscounted: 0 },
      store: { lost: 0, unanswered: 1, late: 5, doubled: 0, conflict: 0, unnamed: 0 },
      changes: [
        { atMs: 414283, kind: 'goes', series: 5, date: '2026-01-03', at: 96744 },
        { atMs: 2724, kind: 'returns', series: 2, date: '2026-01-04', at: 30291 },
      ],
      log: { entriesMs: 0, checkpointVersions: 3 },
    },
  },
];
