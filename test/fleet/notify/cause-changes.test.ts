import { expect, test } from 'vitest';
import type { Cause, KnownCauses, ToldCause } from '../../../src/fleet/notify/cause-changes.ts';
import { causeKey, compareCauses, MAX_MEMBERS } from '../../../src/fleet/notify/cause-changes.ts';

const failed = (...members: string[]): Cause => ({
  kind: 'failed',
  job: 'm',
  members,
  text: `${members.length}`,
});
const known = (...causes: (Cause | 'over')[]) =>
  new Map(
    causes.map((cause): [string, Cause | string] =>
      cause === 'over' ? ['failed/m', 'm: none any more'] : [causeKey(cause), cause],
    ),
  );

/** What is said of each state of things, one after the other. */
function saidOf(...states: KnownCauses[]): string[][] {
  let told: readonly ToldCause[] = [];
  return states.map((state, at) => {
    const compared = compareCauses(told, state, at);
    told = JSON.parse(JSON.stringify(compared.told));
    return compared.changes.map(({ what, members }) => `${what} ${members.join(',')}`.trim());
  });
}

test('a cause is told when it begins, when it grows and when it is over, each once', () => {
  const said = saidOf(
    known(failed('a')),
    known(failed('a')),
    known(failed('a', 'b')),
    known(failed('b')),
    known('over'),
    known('over'),
  );
  expect(said).toEqual([['begun a'], [], ['more b'], [], ['over'], []]);
});

test('a member that goes and comes back while the cause lasts is nothing new', () => {
  expect(saidOf(known(failed('a', 'b')), known(failed('b')), known(failed('a', 'b')))).toEqual([
    ['begun a,b'],
    [],
    [],
  ]);
});

test('what is not known is neither new nor over', () => {
  expect(saidOf(known(failed('a')), new Map(), known(failed('a')), known('over'))).toEqual([
    ['begun a'],
    [],
    [],
    ['over'],
  ]);
});

test('what comes again after it was over is told again', () => {
  expect(saidOf(known(failed('a')), known('over'), known(failed('a')))).toEqual([
    ['begun a'],
    ['over'],
    ['begun a'],
  ]);
});

test('of more members than are remembered only a higher number is new', () => {
  const many = (count: number) => known(failed(...Array.from({ length: count }, (_, at) => `${at}`)));
  const said = saidOf(
    many(MAX_MEMBERS + 5),
    many(MAX_MEMBERS + 5),
    many(3),
    many(MAX_MEMBERS + 4),
    many(MAX_MEMBERS + 6),
  );
  expect(said.map((changes) => changes.map((change) => change.split(' ')[0]))).toEqual([
    ['begun'],
    [],
    [],
    [],
    ['more'],
  ]);
});
