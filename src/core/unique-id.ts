/** Names that nothing else has, of attempts, uploads, entries and requests: the one place where they come from. */
import { randomUUID } from 'node:crypto';

let draw: () => string = randomUUID;

/** `[A-Za-z0-9-]+`. */
export const uniqueId = (): string => draw();

/** For a world in which everything follows from a seed; without a source they are random again. */
export function drawIdsFrom(source: () => string = randomUUID): void {
  draw = source;
}
