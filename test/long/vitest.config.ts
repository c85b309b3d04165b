import { defineConfig, mergeConfig } from 'vitest/config';
import { longTests } from '../helpers/tiers.ts';
import { shared } from '../vitest.config.ts';

/** What takes minutes, and all cases of tests of which the suite has some. */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      include: ['test/long/**/*.test.ts', 'test/browser/coverage-large.test.ts', ...longTests()],
      env: { TEST_TIER: 'long' },
      globalSetup: ['test/helpers/s3-global-setup.ts'],
      testTimeout: 900_000,
      hookTimeout: 900_000,
      expect: { poll: { timeout: 180_000 } },
    },
  }),
);
