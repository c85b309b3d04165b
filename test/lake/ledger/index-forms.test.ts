/** A column of the index comes back as it was written, whatever stands in receipts, and nothing else is taken for one. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Moment } from '../../../src/core/model/index.ts';
import { momentText } from '../../../src/core/model/index.ts';
import type { Form } from '../../../src/lake/ledger/index-forms.ts';
import { packValues, unpackValues } from '../../../src/lake/ledger/index-forms.ts';

const isAny = () => true;
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof(fc.constant(null), arbitrary);
const text = fc.string({ minLength: 1, unit: 'binary' });
const instant = fc.oneof(
  fc
    .date({ min: new Date(0), max: new Date('2199-12-31T23:59:59.999Z'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  fc.constantFrom(
    '2026-01-05T00:00:00.123456Z',
    '2026-01-05T00:00:00Z',
    '2026-01-05t00:00:00.123z',
    '2026-01-05T02:00:00.123+02:00',
    '1969-12-31T23:59:59.999Z',
  ),
);
const FORMS: Readonly<Record<Form, fc.Arbitrary<unknown>>> = {
  json: fc.jsonValue(),
  sparse: orNull(fc.record({ names: fc.array(text) })),
  numbers: orNull(fc.maxSafeNat()),
  instants: orNull(instant),
  repeated: orNull(fc.constantFrom('exact', 'at-least', 'é')),
  texts: orNull(text),
};

test.for(Object.entries(FORMS) as [Form, fc.Arbitrary<unknown>][])('%s', ([form, value]) => {
  const values = fc.array(value, { maxLength: 50 });
  fc.assert(
    fc.property(values, (written) => {
      const plain = JSON.parse(JSON.stringify(written)) as unknown[];
      const packed = packValues(form, plain.length, (at) => plain[at]);
      const valueAt = unpackValues(form, packed, plain.length, isAny);
      const read = (at: number) =>
        form === 'instants' && valueAt(at) !== null ? momentText(valueAt(at) as Moment) : valueAt(at);
      expect(plain.map((_, at) => read(at))).toEqual(plain);
      // What was read is packed as it was.
      expect(packValues(form, plain.length, valueAt)).toEqual(packed);
      // Another number of values, or a value that may not be.
      expect(() => unpackValues(form, packed, plain.length + 1, (one) => one !== null)).toThrow();
      if (plain.length > 0 && !(form === 'instants' && plain.some((one) => one !== null)))
        expect(() => unpackValues(form, packed, plain.length, () => false)).toThrow();
    }),
  );
});

test('instants that no Date has are not taken', () => {
  const packed = packValues('instants', 1, () => '2026-01-05T00:00:00.000Z');
  const doubles = new Float64Array([-1, 0.5, 9e15, Number.POSITIVE_INFINITY]);
  for (let at = 0; at < doubles.length; at++) {
    const bytes = Uint8Array.from(packed);
    bytes.set(new Uint8Array(doubles.buffer, at * 8, 8), packed.length - 8);
    expect(() => unpackValues('instants', bytes, 1, isAny)).toThrow();
  }
});
