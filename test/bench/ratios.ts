/** A measurement of one round. */
interface Timed {
  readonly wallMs: number;
}

/** Ratios of wall times, each of two measurements of one round, in which the machine is about equally busy. */
export function ratiosOf(over: readonly Timed[], under: readonly Timed[]): number[] {
  if (over.length !== under.length)
    throw new RangeError(`got ${over.length} and ${under.length} rounds, expected as many`);
  return over.map(({ wallMs }, round) => wallMs / under[round]!.wallMs);
}
