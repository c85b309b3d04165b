import { setTimeout as sleep } from 'node:timers/promises';
import { removeFile } from './calls.ts';
import { unlessMissing } from './errors.ts';
import { isDeadTemp, tempsOf } from './temps.ts';

/**
 * Turns among the writers of one file that compare before they rename. A writer's temp file, made by exclusive create
 * beside the file and named by its host and process, is its lock and its only weapon in one: it acts when it sees no
 * other. Of several the oldest waits for the others to go, and these give way: they drop theirs and come again when it
 * is through. Who is dead, or keeps the others waiting, loses its temp file to them: its rename then fails (ENOENT),
 * and it starts again from its comparison. So a process that was stopped inside its turn neither blocks the others nor
 * writes when it goes on.
 */
const TURN_MS = 5_000;
const LOOK_MS = 3;

/** Wait for the turn of the writer whose temp file is `temp`. Throws ENOENT where it has to start again. */
export async function untilAlone(path: string, temp: string): Promise<void> {
  const sinceMs = new Map<string, number>();
  let gaveWayTo: string | undefined;
  for (;;) {
    const temps = await tempsOf(path);
    const others = temps.filter((other) => other !== temp);
    if (others.length === 0) return;
    if (gaveWayTo === undefined && temps[0] !== temp) {
      gaveWayTo = temps[0]!;
      await unlessMissing(removeFile(temp));
    } else if (gaveWayTo !== undefined && !temps.includes(gaveWayTo))
      throw Object.assign(new Error(`gave way to ${gaveWayTo}`), { code: 'ENOENT' });
    for (const other of others) await dropIfOverdue(other, sinceMs);
    await sleep(LOOK_MS * (1 + Math.random()));
  }
}

/** Take the file of a writer that is dead or keeps us waiting. */
async function dropIfOverdue(other: string, sinceMs: Map<string, number>): Promise<void> {
  const nowMs = performance.now();
  const firstSeenMs = sinceMs.get(other) ?? nowMs;
  sinceMs.set(other, firstSeenMs);
  if (nowMs - firstSeenMs > TURN_MS || (await isDeadTemp(other))) await unlessMissing(removeFile(other));
}
