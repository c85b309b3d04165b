/** What a row of the table of variables is, and the kinds of value: how each is read from text, and its rule in words. */
import { z } from 'zod';
import {
  MAX_ADDRESS_CHARS,
  percentDecoded,
  readNetworks,
  readWebAddress,
} from '../../core/model/web-address.ts';

export interface Variable<Schema extends z.ZodType = z.ZodType> extends Kind<Schema> {
  readonly meaning: string;
  /** Text of the default, as it could stand in the environment. Absent: a value is needed, unless `optional`. */
  readonly fallback?: () => string;
  readonly secret?: boolean;
  readonly optional?: boolean;
  /** May also come from the file that `<NAME>_FILE` names. */
  readonly fromFile?: boolean;
}

interface Kind<Schema extends z.ZodType> {
  readonly schema: Schema;
  readonly rule: string;
  /** What to write instead of a wrong value, where that can be said. */
  readonly advice?: (text: string) => string | undefined;
}

export const kind = <S extends z.ZodType>(rule: string, schema: S): Kind<S> => ({ rule, schema });

export const needed = <S extends z.ZodType>(value: Kind<S>, meaning: string) => ({ ...value, meaning });

export const optional = <S extends z.ZodType>(value: Kind<S>, meaning: string) =>
  ({ ...value, meaning, optional: true }) as const;

export const secret = <S extends z.ZodType>(value: Kind<S>, meaning: string) =>
  ({ ...value, meaning, optional: true, secret: true, fromFile: true }) as const;

export const preset = <S extends z.ZodType>(
  value: Kind<S>,
  fallback: string | (() => string),
  meaning: string,
) => ({ ...value, meaning, fallback: typeof fallback === 'string' ? () => fallback : fallback });

const text = z.string();

/** A number of at most nine digits that is no less than `least`. */
const atLeast = (least: number) =>
  text
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .refine((n) => n >= least);

export const COUNT = kind('a whole number', atLeast(0));
export const POSITIVE = kind('a whole number of at least 1', atLeast(1));
const port = atLeast(0).refine((n) => n < 65_536);
export const PORT = kind('a port', port);
export const NOT_EMPTY = kind('not empty', text.min(1));
export const atLeastChars = (chars: number, more = '') =>
  kind(`at least ${chars} characters${more}`, text.min(chars));
export const oneOf = <const T extends readonly string[]>(names: T) =>
  kind(`one of ${names.join(', ')}`, z.enum(names));
const flag = z.enum(['0', '1', 'true', 'false']).transform((value) => value === '1' || value === 'true');
export const FLAG = kind('0 or 1', flag);
export const REDIS_NAME = kind('letters, digits and . _ - (at most 64)', text.regex(/^[\w.-]{1,64}$/));
export const headerName = (example: string) =>
  kind(
    `the name of a header, such as ${example}`,
    text.regex(/^[A-Za-z0-9-]{1,64}$/).transform((name) => name.toLowerCase()),
  );
export const claimName = (more = '') =>
  kind(`the name of a claim${more}`, text.regex(/^[\x21-\x7e]{1,200}$/));

export const groupNames = (absent: string) =>
  kind(
    `names separated by commas, or not set: ${absent}`,
    text
      .transform((names) => names.split(',').flatMap((one) => one.trim() || []))
      .refine((names) => names.length > 0),
  );

/** `0` for none, `1` for any, or names and addresses as they stand in a URL. */
export const HOSTS = kind(
  '0, 1, or names of hosts with commas between',
  text
    .regex(/^([\w.-]+|\[[\da-f:.]+\])(,([\w.-]+|\[[\da-f:.]+\]))*$/i)
    .transform((hosts): readonly string[] =>
      hosts
        .toLowerCase()
        .replace(/^false$/, '0')
        .replace(/^true$/, '1')
        .split(','),
    ),
);

export const NETWORKS = kind(
  'addresses and networks (at most /8, or /7 of IPv6) separated by commas, such as 10.0.0.0/8, or not set: no proxy is trusted',
  text.refine((networks) => readNetworks(networks) !== undefined),
);

/** A base address of the service without a slash at the end, spelt as it is connected to. */
export const serviceUrl = (example: string) =>
  kind(
    `an http(s) URL such as ${example}, without query or password, of at most 2,000 characters`,
    text
      .refine((address) => !/[?#@]/.test(address))
      .transform((address) => readWebAddress(address)?.href.replace(/\/+$/, '') ?? '')
      .refine((href) => href !== '' && href.length <= MAX_ADDRESS_CHARS),
  );

/** Any http(s) address, with a password or without; with `isBare` without a query, too. */
export const webUrl = (rule: string, isBare = false) =>
  kind(
    `an http(s) URL${rule}`,
    text.refine((address) => readWebAddress(address) !== undefined && !(isBare && /[?#@]/.test(address))),
  );

export const ORIGIN = kind(
  'an http(s) URL without a path, such as https://vessels.example.com',
  text
    .transform((address) => readWebAddress(address))
    .refine((url) => url !== undefined && url.href === `${url.origin}/`)
    .transform((url) => url!.origin),
);

export const TIME_OF_DAY = kind(
  'a time such as 12:00',
  text.regex(/^([01]\d|2[0-3]):[0-5]\d$/).transform((time) => Date.parse(`1970-01-01T${time}:00Z`)),
);

/** Percent-encoded, as OpenTelemetry has it. */
export const HEADERS = kind(
  'name=value, several with commas between, values percent-encoded',
  text.transform((headers, issues): readonly (readonly [string, string])[] => {
    const pairs = headers.split(',').map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [name.trim(), percentDecoded(value.join('=').trim()) ?? ''] as const;
    });
    if (pairs.every(([name, value]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\x20-\x7e]+$/.test(value)))
      return pairs;
    issues.addIssue('no list of headers');
    return z.NEVER;
  }),
);

/** As OpenLineage's integrations hand it on; a namespace may hold slashes. */
export const PARENT_RUN = kind(
  'namespace/job/run, the last one a UUID',
  text.transform((id, issues) => {
    const [, namespace, name, runId] =
      /^(.+)\/([^/]+)\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i.exec(id) ?? [];
    if (namespace && name && runId) return { namespace, name, runId };
    issues.addIssue('no parent run');
    return z.NEVER;
  }),
);
