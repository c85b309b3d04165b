import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSeriesId } from '../../../src/core/model/series.ts';
import { isLong } from '../../helpers/tiers.ts';
import {
  cutAt,
  decodeBody,
  decodeChunks,
  type Format,
  formatDouble,
  formatRow,
  type RowText,
} from './decoded-rows.ts';

/** A reading as the wire spells it: the texts are what stands in the body. */
interface WireReading {
  readonly id: string;
  readonly timestamp: string;
  readonly value: string;
}

/**
 * The oracle: what a row must be, by other means than the decoder's: `Date` for whole seconds, slicing for the
 * fraction, BigInt for int64, `Number` for doubles.
 */
function expectedRow({ id, timestamp, value }: WireReading): RowText {
  const [, toSecond, fraction = '', zone] = /^(.{19})(?:\.(\d+))?(Z|[+-].*)$/.exec(timestamp)!;
  const micros = Date.parse(`${toSecond}${zone}`) * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
  return formatRow(id, micros, expectedValue(value));
}

function expectedValue(value: string): string {
  if (!/^[-0-9]/.test(value)) return `json ${value}`;
  if (/[.eE]/.test(value) || value === '-0')
    return Number.isFinite(Number(value)) ? formatDouble(Number(value)) : `json ${value}`;
  const integer = BigInt(value);
  return BigInt.asIntN(64, integer) === integer ? `long ${integer}` : `json ${value}`;
}

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });
const sign = fc.constantFrom('', '-');
const integerPart = fc.oneof(
  fc.constant('0'),
  digits(0, 21).map((rest) => `7${rest}`),
  digits(0, 8).map((rest) => `1${rest}`),
);
const exponent = fc
  .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(1, 3))
  .map((parts) => parts.join(''));
const lexeme = fc.oneof(
  fc.tuple(sign, integerPart).map((parts) => parts.join('')),
  fc.tuple(sign, integerPart, fc.constant('.'), digits(1, 20)).map((parts) => parts.join('')),
  fc.tuple(sign, integerPart, fc.constantFrom('', '.5', '.000'), exponent).map((parts) => parts.join('')),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc
    .bigInt({ min: -3n, max: 3n })
    .chain((near) =>
      fc
        .constantFrom(2n ** 63n, -(2n ** 63n), 2n ** 53n, 2n ** 32n, -(2n ** 31n))
        .map((edge) => String(edge + near)),
    ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ min: -1000, max: 1000, noNaN: true }).map((value) => value.toFixed(3)),
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: fc.constantFrom('"', '\\', '}', ']', ',', 'é', '𝄞', 'a', '\n'), maxLength: 12 }),
);
/** A string as JSON, each character spelled one of the ways that JSON allows. */
const jsonString = (value: string, escapes: readonly number[]) =>
  `"${[...value]
    .map((character, i) => {
      const plain = JSON.stringify(character).slice(1, -1);
      if ((escapes[i % Math.max(1, escapes.length)] ?? 0) < 7) return character === '/' ? '\\/' : plain;
      return Array.from(
        { length: character.length },
        (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
      ).join('');
    })
    .join('')}"`;
const space = fc.constantFrom('', '', '', ' ', '\t', ' \r ');
const otherValue = fc.oneof(
  fc.constantFrom('true', 'false', 'null', '{}', '[]', '[[],{"a":[1,{}]}]', '{ "id" : "no", "value" : [ ] }'),
  text.map((value) => JSON.stringify(value)),
  fc.json({ maxDepth: 3 }).map((json) => json.replaceAll('\n', ' ')),
);

const minute = fc.constantFrom(
  ...'2026-01-05T00:00 2026-01-05T23:59 2024-02-29T12:30 1999-12-31T23:59'.split(' '),
);
const zone = fc.oneof(
  { weight: 6, arbitrary: fc.constant('Z') },
  fc.constantFrom('+00:00', '-00:00', '+02:00', '-11:30'),
);
const seconds = fc.integer({ min: 0, max: 59 }).map((second) => String(second).padStart(2, '0'));
const fraction = fc.oneof(
  digits(6, 6).map((some) => `.${some}`),
  digits(1, 6).map((some) => `.${some}`),
  fc.constantFrom('', '.1234560', '.000000000'),
);

const reading = fc
  .record({
    id: fc.oneof(
      fc.constantFrom('a', 'IMO9321483/Wind Speed', 'Ærø "Q"/1', '0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a01'),
      text,
    ),
    timestamp: fc.tuple(minute, fc.constant(':'), seconds, fraction, zone).map((parts) => parts.join('')),
    value: fc.oneof({ weight: 4, arbitrary: lexeme }, { weight: 1, arbitrary: otherValue }),
  })
  // What is no id is refused, as series-ids.test.ts has it.
  .filter(({ id }) => isSeriesId(id));

/** How to spell a record: undefined for the contract's own way. */
const spelling = fc.option(
  fc.record({
    order: fc.shuffledSubarray(['id', 'timestamp', 'value', 'extra', 'more'], { minLength: 5 }),
    escapes: fc.array(fc.nat(9), { maxLength: 5 }),
    spaces: fc.array(space, { minLength: 1, maxLength: 7 }),
    extra: otherValue,
  }),
  { nil: undefined, freq: 2 },
);

function spell(wire: WireReading, how: typeof spelling extends fc.Arbitrary<infer T> ? T : never): string {
  if (how === undefined)
    return `{"id":${JSON.stringify(wire.id)},"timestamp":"${wire.timestamp}","value":${wire.value}}`;
  let used = 0;
  const gap = () => how.spaces[used++ % how.spaces.length]!;
  const values: Record<string, string> = {
    id: jsonString(wire.id, how.escapes),
    timestamp: jsonString(wire.timestamp, how.escapes),
    value: wire.value,
    extra: how.extra,
    more: '"ignored"',
  };
  const members = how.order.map(
    (key) => `${gap()}${jsonString(key, how.escapes)}${gap()}:${gap()}${values[key]}${gap()}`,
  );
  return `{${members.join(',')}}`;
}

const body = fc
  .record({
    readings: fc.array(fc.tuple(reading, spelling), { maxLength: 12 }),
    gaps: fc.array(space, { minLength: 1 }),
    lineFeeds: fc.boolean(),
  })
  .map(({ readings, gaps, lineFeeds }) => {
    const micros = (wire: WireReading) => Number(expectedRow({ ...wire, id: 'x' }).split(' ')[1]);
    const ordered = readings.toSorted(([a], [b]) => micros(a) - micros(b));
    const gap = (i: number) => gaps[i % gaps.length]!;
    const records = ordered.map(([wire, how], i) => `${gap(i)}${spell(wire, how)}${gap(i + 1)}`);
    const lineFeed = lineFeeds ? '\n' : '';
    return {
      rows: ordered.map(([wire]) => expectedRow(wire)),
      ids: ordered.map(([wire]) => wire.id),
      bytes: {
        ndjson: Buffer.from(records.map((line) => `${line}\n${lineFeed}`).join('')),
        json: Buffer.from(
          `${gap(0)}[${lineFeed}${records.join(`,${lineFeed}`)}${lineFeed}]${gap(1)}${lineFeed}`,
        ),
      },
    };
  });
const cuts = fc.array(fc.nat(), { maxLength: 30 });
const slabBytes = fc.constantFrom(1, 3, 16, 61, 128, 1000, 10_000);

describe.each(['ndjson', 'json'] as const)('%s bodies, at random', (format: Format) => {
  it('decode to what a naive reader makes of them, however they are cut', () => {
    fc.assert(
      fc.property(
        body,
        cuts,
        slabBytes,
        fc.integer({ min: 1, max: 5 }),
        ({ rows, ids, bytes }, places, slab, batchRows) => {
          const whole = bytes[format];
          const outcome = decodeChunks(format, cutAt(whole, places), { slabBytes: slab, batchRows });
          expect(outcome).toEqual({ rows, error: undefined });
          const lines = whole
            .toString()
            .split('\n')
            .filter((line) => line.trim() !== '');
          const parsed: { id: string }[] =
            format === 'json' ? JSON.parse(whole.toString()) : lines.map((line) => JSON.parse(line));
          expect(parsed.map(({ id }) => id)).toEqual(ids);
        },
      ),
      { numRuns: isLong ? 10_000 : 400 },
    );
  });

  it('with damaged bytes, give the same rows and the same fault however they are cut', () => {
    const damage = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ maxLength: 3 }), drop: fc.nat(3) });
    fc.assert(
      fc.property(body, damage, cuts, slabBytes, ({ bytes }, { at, bytes: put, drop }, places, slab) => {
        const whole = bytes[format];
        const from = at % (whole.length + 1);
        const damaged = Buffer.concat([whole.subarray(0, from), put, whole.subarray(from + drop)]);
        const once = decodeBody(format, damaged, { slabBytes: 10_000, batchRows: 16 });
        const cut = decodeChunks(format, cutAt(damaged, places), { slabBytes: slab, batchRows: 16 });
        expect(cut.rows).toEqual(once.rows);
        expect(cut.error?.code).toBe(once.error?.code);
        expect(placeOf(cut.error)).toBe(placeOf(once.error));
      }),
      { numRuns: isLong ? 10_000 : 400 },
    );
  });

  it('are refused where a naive reader refuses them', () => {
    const damage = fc.record({
      at: fc.nat(),
      put: fc.constantFrom('', '"', '\\', ',', '}', '{', ']', '0', '-', '.', 'e', ' ', 'x', '\u0000', ':'),
      drop: fc.nat(2),
    });
    fc.assert(
      fc.property(body, damage, ({ bytes }, { at, put, drop }) => {
        const whole = bytes[format].toString('latin1');
        const from = at % (whole.length + 1);
        const damaged = Buffer.from(whole.slice(0, from) + put + whole.slice(from + drop), 'latin1');
        const { error } = decodeBody(format, damaged, { slabBytes: 10_000, batchRows: 16 });
        const refused = error?.code === 'malformed-json' || error?.code === 'body-truncated';
        if (isJson(format, damaged)) expect(refused && error).toBe(false);
        else expect(error).toBeDefined();
      }),
      { numRuns: isLong ? 10_000 : 400 },
    );
  });
});

function placeOf(error: Error | undefined): string | undefined {
  return /^record \d+, byte \d+/.exec(error?.message ?? '')?.[0];
}

/** Does a JSON parser take the body, as records one a line or as an array of records? */
function isJson(format: Format, bytes: Buffer): boolean {
  const isRecord = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (format === 'json') {
      const parsed: unknown = JSON.parse(text);
      return Array.isArray(parsed) && parsed.every(isRecord);
    }
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .every((line) => isRecord(JSON.parse(line)));
  } catch {
    return false;
  }
}
