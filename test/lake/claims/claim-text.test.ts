/** A claim's file is written again and again into the same memory: it must be right each time, whatever was there before. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClaimFile, SealedDay, SplicedRowGroup } from '../../../src/core/model/index.ts';
import type { OwnClaimFile } from '../../../src/lake/claims/claim-text.ts';
import { createClaimText, openCheckpoint } from '../../../src/lake/claims/claim-text.ts';

/** As a store has it. */
const readBack = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString('utf8')) as ClaimFile;

const text = fc.string({ unit: 'binary', maxLength: 40 });
const group = fc.record({
  bodyBytes: fc.nat(),
  tail: fc.uint8Array({ maxLength: 20_000, size: 'max' }),
  rows: fc.nat(),
});
/** From its begin, or with other row groups after a clean start; more of them, fewer, or none. */
const step = fc.record({
  from: fc.nat(1),
  groups: fc.nat(12),
  heartbeatMs: fc.nat(),
  series: fc.dictionary(text, text),
  isSealed: fc.boolean(),
});

function fileOf(
  all: readonly SplicedRowGroup[],
  { from, groups, ...rest }: typeof step extends fc.Arbitrary<infer S> ? S : never,
): OwnClaimFile {
  const { heartbeatMs, series, isSealed } = rest;
  const upload = { key: 'k', uploadId: 'é', nonce: 'n' };
  const tally = { startedAt: '2026-01-06T00:00:00Z', pages: 1, requests: 2, retries: 0, clippedRows: 0 };
  const checkpoint = {
    upload,
    parts: [],
    rowGroups: all.slice(from, from + groups),
    cursorMicros: 1,
    series,
  };
  return {
    ...{
      claimVersion: 1,
      epoch: 1,
      attempt: 'a',
      owner: { host: 'h', pid: 1 },
      settingsHash: 's',
      heartbeatMs,
    },
    checkpoint: groups === 0 ? null : { ...checkpoint, counts: {}, tally },
    sealed: isSealed ? ({ detail: 'ü', upload: null } as SealedDay) : null,
  };
}

test('what is written is what was to be written', () => {
  fc.assert(
    fc.property(
      fc.array(group, { minLength: 13, maxLength: 13 }),
      fc.array(step, { maxLength: 12 }),
      (all, steps) => {
        const textOf = createClaimText();
        for (const file of steps.map((one) => fileOf(all, one))) {
          const { checkpoint, ...rest } = readBack(textOf(file));
          const { checkpoint: expected, ...others } = file;
          expect(rest).toEqual(others);
          const open = checkpoint && openCheckpoint(checkpoint);
          const groupsOf = (groups: readonly SplicedRowGroup[] | undefined) =>
            groups?.map(({ tail, ...more }) => ({ ...more, tail: Buffer.from(tail).toString('hex') }));
          expect({ ...open, rowGroups: groupsOf(open?.rowGroups) }).toEqual({
            ...expected,
            rowGroups: groupsOf(expected?.rowGroups),
          });
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('the memory is used again', () => {
  const textOf = createClaimText();
  const groups = [1, 2].map((rows) => ({ bodyBytes: rows, tail: Uint8Array.of(rows), rows }));
  const file = (from: number, count: number) =>
    fileOf(groups, { from, groups: count, heartbeatMs: 1, series: {}, isSealed: false });
  const { buffer } = textOf(file(0, 1));
  expect(textOf(file(0, 2)).buffer).toBe(buffer);
  expect(textOf(file(0, 0)).buffer).not.toBe(buffer);
});

test('a text that could not be made is made anew', () => {
  const textOf = createClaimText();
  const groups = [1, 2, 3].map((rows) => ({ bodyBytes: rows, tail: Uint8Array.of(rows), rows }));
  const file = (count: number) =>
    fileOf(groups, { from: 0, groups: count, heartbeatMs: 1, series: {}, isSealed: false });
  textOf(file(1));
  const rowsOf = () => readBack(textOf(file(3))).checkpoint?.rowGroups.map(({ rows }) => rows);
  const { tail } = groups[2]!;
  // As when there is no memory for it, once the second is written.
  Object.defineProperty(groups[2], 'tail', {
    configurable: true,
    get: () => {
      throw new RangeError('Array buffer allocation failed');
    },
  });
  expect(rowsOf).toThrow(RangeError);
  Object.defineProperty(groups[2], 'tail', { value: tail });
  expect(rowsOf()).toEqual([1, 2, 3]);
});

test('however large it becomes', () => {
  const textOf = createClaimText();
  const groups = [{ bodyBytes: 1, tail: new Uint8Array(1_000), rows: 1 }];
  for (let chars = 60_000; chars < 70_000; chars += 97) {
    const series = { a: 'ä'.repeat(chars) };
    const file = fileOf(groups, { from: 0, groups: 1, heartbeatMs: 1, series, isSealed: false });
    expect(readBack(textOf(file)).checkpoint?.series).toEqual(series);
  }
});
