import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/s3-global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Its modules name each other without their endings.
    server: { deps: { inline: ['dt-sql-parser'] } },
    // Bounds on what hangs, not on what is slow: machines are shared.
    testTimeout: 480_000,
    hookTimeout: 480_000,
    expect: { poll: { timeout: 180_000 } },
  },
});
