/** Statistics as text: JSON, and tables in which what a spreadsheet or a browser would run is text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MICROS_PER_DAY, microsToIso } from '../../../src/core/model/index.ts';
import { createTimeText } from '../../../src/service/query/formats.ts';
import { statisticsBody } from '../../../src/service/query/statistics-body.ts';

/** One row: an id, a last value as JSON, and a minimum. */
async function table(format: 'csv' | 'html', id: string, json: string, min = '-5.5'): Promise<string> {
  async function* batches() {
    const values = new Map([
      ['last_val', json],
      ['min', min],
    ]);
    yield [{ start: 0, series: { id }, values: { value: (aggregation: string) => values.get(aggregation) } }];
  }
  const layout = { shape: 'array', format, aggregations: ['last_val', 'min'] } as const;
  let body = '';
  for await (const piece of statisticsBody(batches() as never, layout)) body += piece;
  return body;
}

/** Cells of the second record, read as RFC 4180 says. */
function cellsOf(csv: string): string[] {
  const record = csv.slice(csv.indexOf('\r\n') + 2, -2);
  return [...record.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!,
  );
}

describe('csv', () => {
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '=HYPERLINK("http://x","y")'])(
    'a text that begins a formula is defused: %j',
    async (text) => {
      const cells = cellsOf(await table('csv', text, JSON.stringify(text)));
      expect(cells).toEqual(['1970-01-01T00:00:00.000000Z', `'${text}`, `'${text}`, '-5.5']);
    },
  );

  test('numbers stay numbers, however they begin', async () => {
    expect(cellsOf(await table('csv', 'IMO9321483/Roll', '-3')).slice(1)).toEqual([
      'IMO9321483/Roll',
      '-3',
      '-5.5',
    ]);
  });

  test('no text begins a formula, and none loses a letter', async () => {
    const text = fc.array(fc.constantFrom(...'=+-@\t\r\n,";\'ab 1'), { maxLength: 6 }).map((l) => l.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (id, value) => {
        const [, idCell, valueCell] = cellsOf(await table('csv', id, JSON.stringify(value)));
        for (const [cell, original] of [
          [idCell!, id],
          [valueCell!, value],
        ] as const) {
          expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
          expect([original, `'${original}`]).toContain(cell);
        }
      }),
    );
  });
});

describe('html', () => {
  test('every text is escaped', async () => {
    const text = `<script>alert("x" + 'y')</script>&`;
    const escaped = '&lt;script&gt;alert(&quot;x&quot; + &#39;y&#39;)&lt;/script&gt;&amp;';
    const body = await table('html', text, JSON.stringify(text));
    expect(body).toContain(`<td>${escaped}</td><td>${escaped}</td><td>-5.5</td>`);
    const object = await table('html', 'a', JSON.stringify({ '<b>': "'" }));
    expect(object).toContain('<td>{&quot;&lt;b&gt;&quot;:&quot;&#39;&quot;}</td>');
  });
});

describe('json', () => {
  test('is what JSON.stringify writes, whatever the texts and how long they are', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 });
    const result = fc.record({ id: text, last: fc.option(text, { nil: undefined }), count: fc.nat() });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(result, { maxLength: 30 }), { maxLength: 5 }), async (batches) => {
        async function* results() {
          for (const batch of batches)
            yield batch.map(({ id, last, count }) => {
              const json = new Map([
                ['count', String(count)],
                ['first_time', JSON.stringify(microsToIso(count))],
              ]);
              if (last !== undefined) json.set('last_val', JSON.stringify(last));
              return { start: count, series: { id }, values: { value: (name: string) => json.get(name) } };
            });
        }
        const aggregations = ['last_val', 'count', 'first_time'] as const;
        let body = '';
        const layout = { shape: 'array', format: 'json', aggregations } as const;
        for await (const piece of statisticsBody(results() as never, layout)) body += piece;
        const expected = batches.flat().map(({ id, last, count }) => ({
          timestamp: microsToIso(count),
          id,
          aggregations: {
            ...(last === undefined ? {} : { last_val: last }),
            ...{ count, first_time: microsToIso(count) },
          },
        }));
        expect(body).toBe(JSON.stringify(expected));
      }),
      { numRuns: 30 },
    );
  });

  test('times are written as they are elsewhere, in any order', () => {
    const anyTime = fc.integer({ min: 0, max: 80_000 * MICROS_PER_DAY });
    const near = fc.tuple(anyTime, fc.array(fc.integer({ min: -200_000_000, max: 200_000_000 })));
    fc.assert(
      fc.property(near, ([first, steps]) => {
        const timeText = createTimeText();
        for (const micros of [first, ...steps.map((step) => Math.abs(first + step))])
          expect(timeText(micros)).toBe(microsToIso(micros));
      }),
    );
  });
});
