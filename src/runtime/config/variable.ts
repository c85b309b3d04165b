/** What a row of the table of variables is, and what kinds of value one may have, from its text.  */
import { z } from 'zod';
import { MAX_ADDRESS_CHARS, readWebAddress } from '../../core/model/web-address.ts';

/** A number of at most nine digits that is no less than `least`. */
export const wholeNumber = (least: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .refine((n) => n >= least);

/** Texts separated by commas: at least one. */
export const textList = z
  .string()
  .transform((text) => text.split(',').flatMap((one) => one.trim() || []))
  .refine((texts) => texts.length > 0);

/** `0` or `false`, `1` or `true`. */
export const flag = z.enum(['0', '1', 'true', 'false']).transform((text) => text === '1' || text === 'true');

/** `0` for none, `1` for any, or names and addresses as they stand in a URL. */
export const hostList = z
  .string()
  .regex(/^([\w.-]+|\[[\da-f:.]+\])(,([\w.-]+|\[[\da-f:.]+\]))*$/i)
  .transform((text): readonly string[] =>
    text
      .toLowerCase()
      .replace(/^false$/, '0')
      .replace(/^true$/, '1')
      .split(','),
  );

/**
 * A base address of the service: no query, no fragment, no password, no slash at the end. Spelt as it is connected to,
 * so that whoever looks at it sees what the client sees.
 */
export const serviceUrl = z
  .string()
  .refine((text) => !/[?#@]/.test(text))
  .transform((text) => readWebAddress(text)?.href.replace(/\/+$/, ''))
  .refine((href) => href !== undefined)
  .transform((href) => href!)
  .refine((href) => href.length <= MAX_ADDRESS_CHARS);

/** Where spans are sent: an address, with a password or without. */
export const collectorUrl = z.string().refine((text) => readWebAddress(text) !== undefined);

/** `name=value,name=value`, percent-encoded, as OpenTelemetry has it. */
export const headerList = z.string().transform((text, issues): readonly (readonly [string, string])[] => {
  const pairs = text.split(',').map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return [name.trim(), decoded(value.join('=').trim())] as const;
  });
  if (pairs.every(([name, value]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\x20-\x7e]+$/.test(value)))
    return pairs;
  issues.addIssue('no list of headers');
  return z.NEVER;
});

/** '' where it is not encoded right. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Samplers of traces, as OpenTelemetry names them. */
export const SAMPLERS = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
] as const;

/** Part of the names of keys in Redis. */
export const redisName = z.string().regex(/^[\w.-]{1,64}$/);

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
