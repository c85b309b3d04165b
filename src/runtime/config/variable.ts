import type { z } from 'zod';

/** A row of the table of variables. */
export interface Variable {
  readonly name: string;
  readonly meaning: string;
  /** What a value must be, in words. */
  readonly rule: string;
  readonly schema: z.ZodType;
  /** What to write instead of a wrong value, where that can be said. */
  readonly advice?: (text: string) => string | undefined;
  /** Text of the default, as it could stand in the environment. Absent: a value is needed, unless `optional`. */
  readonly fallback?: () => string;
  readonly secret?: boolean;
  /** May be left out. */
  readonly optional?: boolean;
  /** May also come from the file that `<NAME>_FILE` names. */
  readonly fromFile?: boolean;
}
