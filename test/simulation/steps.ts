/** Steps of a process, by what it asks of the store: where a history can stop it, whatever came before. */
import { chance, type Draw, pick } from './random.ts';

export const STEPS = {
  claims: /^put _checkpoints\/.* in the place of null$/,
  'looks for others': /^list _checkpoints\/m\/date=/,
  'writes into a claim': /^put _checkpoints\/.* in the place of v/,
  'reads the receipt': /^get _ledger\/m\//,
  'sends a part': /^send part/,
  completes: /^complete m\//,
  commits: /^put m\/_delta_log\/\d+\.json/,
  'writes the detail': /^put _detail\//,
  'writes the receipt': /^put _ledger\//,
  'removes claims': /^remove .*_checkpoints\//,
} as const;
export type Step = keyof typeof STEPS;

/** A process dies or falls asleep as it comes to a step: right before it asks, or while its request is on its way. */
export interface Stop {
  readonly step: Step;
  /** Of all its calls of this kind. */
  readonly nth: number;
  readonly isSent: boolean;
  /** It goes on after so long; without, it is dead. */
  readonly forMs?: number;
}

const SHORT_MS = [30_000, 120_000, 3_600_000] as const;

export function drawStop(draw: Draw, mayDie = true): Stop {
  const step = pick(draw, Object.keys(STEPS) as Step[]);
  const [nth, isSent] = [1 + (chance(draw, 60) ? 0 : draw(4)), draw(2) === 0];
  const forMs = pick(draw, SHORT_MS);
  return { step, nth, isSent, ...(!(mayDie && draw(2) === 0) && { forMs }) };
}

/** Counts calls until the one at which a process is stopped. */
export function createStop({ step, nth }: Stop): (call: string) => boolean {
  let met = 0;
  return (call) => STEPS[step].test(call) && ++met === nth;
}
