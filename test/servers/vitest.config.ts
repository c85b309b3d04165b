import { defineConfig, mergeConfig } from 'vitest/config';
import { shared } from '../vitest.config.ts';

/** The tests that `npm run stores` runs on a server that it has started: S3_TEST_ENDPOINT. One after the other, some servers are slow. */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      globalSetup: ['test/helpers/s3-global-setup.ts'],
      maxWorkers: 1,
      testTimeout: 600_000,
      hookTimeout: 600_000,
      expect: { poll: { timeout: 180_000 } },
    },
  }),
);
