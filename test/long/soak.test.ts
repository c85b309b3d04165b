/** The short form of `npm run soak`: honest clients get right answers beside hostile ones. */
import { expect, test } from 'vitest';
import { runSoak } from '../hostile/run-soak.ts';

test('honest clients get right answers beside hostile ones, and leave no handles or files behind', async () => {
  for (const { name, soaked } of await runSoak({ forMs: 8_000 })) {
    const { wrong, honest, hostile, handlesBefore, handlesAfter, tempFilesAfter, samples } = soaked;
    expect({ name, wrong }).toEqual({ name, wrong: [] });
    expect(Math.min(honest, hostile)).toBeGreaterThan(0);
    expect(handlesAfter).toBeLessThanOrEqual(handlesBefore + 4);
    expect(tempFilesAfter).toBeLessThanOrEqual(samples[0]!.tempFiles + 1);
  }
});
