/** Metadata that was decoded before is not decoded again, and differs in nothing from what decoding makes of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import { MAX_SERIES, silentLog } from '../../src/core/model/index.ts';
import { createSourceContext } from '../../src/source/context.ts';
import { GatheredBody, MetadataAnswers } from '../../src/source/metadata-answers.ts';
import { describeSeries, resolveSeries } from '../../src/source/series.ts';
import type { Listener } from './fetch/listener.ts';
import { answer, clientOf, errorOf, startListener } from './fetch/listener.ts';

const element = (timeSeriesId: string, id: string, imo: string | null = '9321483', more = {}) => ({
  ...{ id, timeSeriesId, vessel: { imo }, domains: {}, ...more },
});

/** The vessel's series, by an own client: nothing but the process remembers. */
function contextOf(listener: Listener, select = ['flat/{vessel}/*'], vessel = 'IMO9321483') {
  const job: Job = {
    ...{ name: 'measurements', dataset: 'measurements', vessels: [vessel], select },
    ...{ transport: 'ndjson', verify: 'exact' },
  };
  const day = { job: job.name, vessel, date: '2026-01-05' };
  return createSourceContext(
    { client: clientOf(listener), log: silentLog },
    job,
    day,
    new AbortController().signal,
  );
}

test('whatever comes after whatever is what describes all of it says', async () => {
  const listener = await startListener();
  const one = fc.record({
    timeSeriesId: fc.constantFrom('a', 'b', 'c'),
    id: fc.constantFrom('X', 'Y', 'é'),
    imo: fc.constantFrom('9321483', '9321483', '9000001', null, 'IMO 9321483'),
  });
  const elements = fc.array(one, { minLength: 1, maxLength: 4 });
  // Few answers, so that many come again; and spaces, which change the bytes and nothing else.
  const bodies = fc
    .array(fc.tuple(elements, fc.nat(1)), { minLength: 1, maxLength: 3 })
    .chain((some) => fc.array(fc.constantFrom(...some), { minLength: 2, maxLength: 6 }));
  await fc.assert(
    fc.asyncProperty(bodies, async (all) => {
      for (const [elements, spaces] of all) {
        const body = `${' '.repeat(spaces)}${JSON.stringify(elements.map(({ timeSeriesId, id, imo }) => element(timeSeriesId, id, imo)))}`;
        listener.script(answer(body), answer(body));
        const named = await resolveSeries(contextOf(listener)).catch((error) => ({ fault: error.code }));
        const described = await describeSeries(contextOf(listener)).then(
          ({ metadata: _, ...resolved }) => resolved,
          (error) => ({ fault: error.code }),
        );
        expect(named).toEqual(described);
        if ('idOf' in named && 'idOf' in described) expect([...named.idOf]).toEqual([...described.idOf]);
      }
    }),
    { numRuns: 15 },
  );
});

test('one byte that differs is seen, and so are another vessel and another expression', async () => {
  const listener = await startListener();
  const body = (name: string) => JSON.stringify([element('a', name), element('b', 'Heading', null)]);
  for (const name of ['Speed', 'Speed', 'Speee', 'Speed', 'Speed', 'Speee']) {
    listener.script(answer(body(name)));
    const { idOf } = await resolveSeries(contextOf(listener));
    expect([...idOf]).toEqual([
      ['a', name],
      ['b', 'Heading'],
    ]);
  }
  for (const [vessel, ids] of [
    ['IMO9321483', ['a', 'b']],
    ['IMO9000001', ['b']],
    ['IMO9321483', ['a', 'b']],
    ['IMO9000001', ['b']],
    ['IMO9000001', ['b']],
  ] as const) {
    listener.script(answer(body('Speed')));
    const { idOf } = await resolveSeries(contextOf(listener, ['flat/*/*'], vessel));
    expect([...idOf.keys()]).toEqual(ids);
  }
  // Both are asked as `jsmea/*/x`, and mean other series of the answer.
  const levels = JSON.stringify([element('a', '/x'), element('b', 'y/x')]);
  for (let time = 0; time < 6; time++) listener.script(answer(levels));
  const keysOf = async (select: string[]) => [
    ...(await resolveSeries(contextOf(listener, select))).idOf.keys(),
  ];
  expect(await keysOf(['jsmea/*/x'])).toEqual(['a', 'b']);
  expect(await keysOf(['jsmea//x'])).toEqual(['a']);
  expect(await keysOf(['jsmea/*/x'])).toEqual(['a', 'b']);
  expect(await keysOf(['jsmea//x'])).toEqual(['a']);
  expect(await keysOf(['jsmea//x'])).toEqual(['a']);
  expect(await keysOf(['jsmea/*/x'])).toEqual(['a', 'b']);
});

test('a fault is no answer: it is found again, and what is right after it is taken', async () => {
  const listener = await startListener();
  const broken = JSON.stringify([element('a', 'Speed'), { id: 'Heading' }]);
  for (let time = 0; time < 3; time++) {
    listener.script(answer(broken));
    expect(await errorOf(resolveSeries(contextOf(listener)))).toMatchObject({ code: 'missing-field' });
  }
  listener.script(answer(JSON.stringify([element('a', 'Speed')])));
  expect([...(await resolveSeries(contextOf(listener))).idOf.keys()]).toEqual(['a']);
});

test('answers longer than are gathered are decoded as they come', async () => {
  const listener = await startListener();
  const many = Array.from({ length: 3_000 }, (_, n) =>
    element(`series-${n}`, `Name ${n}`, '9321483', { unit: 'x' }),
  );
  for (let time = 0; time < 3; time++) {
    listener.script(answer(JSON.stringify(many)));
    const { idOf } = await resolveSeries(contextOf(listener));
    expect(idOf.size).toBe(3_000);
    expect(idOf.get('series-2999')).toBe('Name 2999');
  }
});

test('series of several expressions are counted together, remembered or not', async () => {
  const listener = await startListener();
  // As many as fit into what is gathered, and so many expressions that all of them are too many.
  const each = 2_000;
  const select = Array.from({ length: MAX_SERIES / each + 1 }, (_, n) => `flat/{vessel}/${n}*`);
  const body = (n: number) =>
    JSON.stringify(
      Array.from({ length: each }, (_, i) => ({
        id: 'x',
        timeSeriesId: `${n}-${i}`,
        vessel: { imo: '9321483' },
      })),
    );
  for (let time = 0; time < 3; time++) {
    listener.script(...select.map((_, n) => answer(body(n))));
    expect(await errorOf(resolveSeries(contextOf(listener, select)))).toMatchObject({
      code: 'too-many-series',
    });
  }
});

/** A letter is a byte. */
const answersOf = (maxBytes: number) =>
  new MetadataAnswers<{ kept: string[] }>(maxBytes, ({ kept }) => kept.join('').length);

test('only so much is remembered, the newest', () => {
  const answers = answersOf(10_000);
  const of = (...kept: number[]) => ({ kept: kept.map((letters) => 'x'.repeat(letters)) });
  answers.remember('a', of(2_000, 2_000));
  answers.remember('b', of(4_000));
  expect(answers.find('a')?.kept).toHaveLength(2);
  answers.remember('c', of(3_000));
  expect(answers.find('b')).toBeUndefined();
  expect(answers.find('a')).toBeDefined();
  answers.remember('d', of(10_000));
  expect(answers.find('d')).toBeUndefined();
  answers.remember('c', of());
  expect(answers.find('c')?.kept).toHaveLength(1);
});

test('answers of which nothing is kept, and long questions, are forgotten too', () => {
  const answers = answersOf(100_000);
  for (let n = 0; n < 1_000; n++) answers.remember(`answer ${n}`, { kept: [] });
  expect(answers.find('answer 0')).toBeUndefined();
  expect(answers.find('answer 999')).toBeDefined();
  for (let n = 0; n < 3; n++) answers.remember(`${n}${'x'.repeat(40_000)}`, { kept: [] });
  expect(answers.find(`0${'x'.repeat(40_000)}`)).toBeUndefined();
  answers.remember('y'.repeat(100_000), { kept: [] });
  expect(answers.find('y'.repeat(100_000))).toBeUndefined();
});

test('an answer is expected again where the same was asked lately', () => {
  const answers = answersOf(10_000);
  expect(answers.isAskedAgain('a')).toBe(false);
  expect(answers.isAskedAgain('a')).toBe(true);
  for (let n = 0; n < 63; n++) expect(answers.isAskedAgain(`${n}`)).toBe(false);
  expect(answers.isAskedAgain('a')).toBe(true);
  for (let n = 0; n < 64; n++) answers.isAskedAgain(`other ${n}`);
  expect(answers.isAskedAgain('a')).toBe(false);
});

test('what is known is not decoded: the same answer gives the very same series', async () => {
  const answers = answersOf(10_000);
  const gathered = new GatheredBody();
  expect(gathered.add(Buffer.from('[1,'))).toBe(true);
  expect(gathered.add(Buffer.from('2]'))).toBe(true);
  expect(gathered.add(Buffer.alloc(256 * 1024))).toBe(false);
  expect(Buffer.from(gathered.bytes).toString()).toBe('[1,2]');
  const key = MetadataAnswers.keyOf('q', gathered.bytes);
  gathered.release();
  const kept = { kept: ['x'] };
  answers.remember(key, kept);
  expect(answers.find(MetadataAnswers.keyOf('q', Buffer.from('[1,2]')))).toBe(kept);
  expect(answers.find(MetadataAnswers.keyOf('p', Buffer.from('[1,2]')))).toBeUndefined();
  expect(answers.find(MetadataAnswers.keyOf('q', Buffer.from('[1,3]')))).toBeUndefined();
});
