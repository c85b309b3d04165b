/** IMO numbers as people type them. */
import { expect, test } from 'vitest';
import { checkDigitHint } from '../../../src/core/model/index.ts';

test('a wrong check digit is said, and a right one is not', () => {
  expect(checkDigitHint('IMO9074729')).toBe('');
  expect(checkDigitHint('IMO9321483')).toBe('');
  expect(checkDigitHint('IMO9321438')).toBe('; the check digit of IMO9321438 is wrong: is it mistyped?');
  // Whatever is no number at all is somebody else's to say.
  expect(checkDigitHint('IMO932148')).toBe('');
});
