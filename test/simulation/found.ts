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
];
