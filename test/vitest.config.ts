/** The suite in tiers: tests without I/O, and those that talk to real servers. `npm run long` has the rest. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { unitTests } from './helpers/tiers.ts';

export const shared = defineConfig({
  test: {
    pool: 'forks',
    // Half of the time tests wait: for processes, servers and each other.
    maxWorkers: Math.min(8, 2 * availableParallelism()),
    // Its modules name each other without their endings.
    server: { deps: { inline: ['dt-sql-parser'] } },
    // Bounds on what hangs, not on what is slow: machines are shared. What takes longer names a bound of its own.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
});

const unit = unitTests();

export default defineConfig({
  test: {
    ...shared.test,
    projects: [
      // Nothing that one of them does outlasts it, so that they share their modules.
      {
        extends: true,
        test: { name: 'unit', include: unit, isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...unit, 'test/long/**', 'test/browser/coverage-large.test.ts'],
          globalSetup: ['test/helpers/s3-global-setup.ts'],
        },
      },
    ],
  },
});
