/** The suite in tiers: tests without I/O, and those that talk to real servers. `npm run long` has the rest. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ALONE, unitTests } from './helpers/tiers.ts';

export const shared = defineConfig({
  test: {
    pool: 'forks',
    // Half of the time tests wait: for processes, servers and each other.
    maxWorkers: Math.min(8, 2 * availableParallelism()),
    // Its modules name each other without their endings.
    server: { deps: { inline: ['dt-sql-parser'] } },
    // Bounds on what hangs, not on what is slow: machines are shared. What takes longer names a bound of its own.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 50_000 } },
  },
});

const unit = unitTests();
const LONG = ['test/long/**', 'test/browser/coverage-large.test.ts'];

export default defineConfig({
  test: {
    ...shared.test,
    // Nothing that one does outlasts it, but what those alone do: the others share their modules.
    projects: [
      { extends: true, test: { name: 'unit', include: unit, exclude: [...ALONE], isolate: false } },
      {
        extends: true,
        test: {
          ...{ name: 'integration', include: ['test/**/*.test.ts'], isolate: false },
          exclude: [...unit, ...ALONE, ...LONG],
          globalSetup: ['test/helpers/s3-global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          ...{ name: 'alone', include: [...ALONE], exclude: LONG },
          globalSetup: ['test/helpers/s3-global-setup.ts'],
        },
      },
    ],
  },
});
