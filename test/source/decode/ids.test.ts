import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { createReadingDecoder } from '../../../src/source/decode/reading-decoder.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The ids of the rows, in order, as the decoder tells them apart. `spelled` are JSON strings without their quotes. */
function decodedIds(spelled: readonly string[]): string[] {
  const dictionary = createSeriesDictionary();
  const ids: string[] = [];
  const decoder = createReadingDecoder({
    format: 'ndjson',
    dictionary,
    onBatch: ({ rows, seriesCodes }) => {
      for (let row = 0; row < rows; row++) ids.push(dictionary.ids[seriesCodes[row]!]!);
    },
  });
  for (const id of spelled)
    decoder.push(Buffer.from(`{"id":"${id}","timestamp":"2026-01-05T00:00:00Z","value":1}\n`));
  decoder.end();
  return ids;
}

const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0');

describe('ids of 36 bytes', () => {
  it('are told apart wherever they differ', () => {
    const first = '00000000-0000-4000-8000-000000000000';
    const ids = [first];
    for (let at = 0; at < first.length; at++)
      if (first[at] !== '-') ids.push(`${first.slice(0, at)}f${first.slice(at + 1)}`);
    const thrice = [...ids, ...ids, ...ids.toReversed()];
    expect(decodedIds(thrice)).toEqual(thrice);
  });

  it('may be more than are remembered, and all alike where they are hashed', () => {
    const many = Array.from(
      { length: 9_000 },
      (_, n) => `0190a1b2-c3d4-7${hex(n, 8).slice(5)}-8000-aaaaaaaaaaaa`,
    );
    const spread = Array.from(
      { length: 9_000 },
      (_, n) => `${hex(n * 77_777, 8)}-c3d4-4000-8000-${hex(n, 12)}`,
    );
    const twice = [...many, ...spread, ...many, ...spread];
    expect(decodedIds(twice)).toEqual(twice);
  });

  it('that are no UUIDs, or spelled with escapes, are what they spell', () => {
    const plain = 'a'.repeat(36);
    const escaped = `\\u0061${'a'.repeat(30)}`;
    const quoted = `\\"${'b'.repeat(34)}`;
    const other = 'é'.repeat(18);
    const spelled = [plain, escaped, quoted, other, plain, escaped, quoted, other];
    const meant = ['a'.repeat(36), 'a'.repeat(31), `"${'b'.repeat(34)}`, other];
    expect(escaped).toHaveLength(36);
    expect(quoted).toHaveLength(36);
    expect(decodedIds(spelled)).toEqual([...meant, ...meant]);
  });

  it('are not taken for longer or shorter ones that begin alike', () => {
    const id = '0190a1b2-c3d4-7000-8000-aaaaaaaaaaaa';
    const spelled = [id, `${id}a`, id.slice(0, 35), id, `${id}","x":"`, id.slice(0, 35), `${id}a`];
    expect(decodedIds(spelled)).toEqual([id, `${id}a`, id.slice(0, 35), id, id, id.slice(0, 35), `${id}a`]);
  });
});

describe('ids that a service makes up', () => {
  it('have as many bytes as a line of text, and no more are held', () => {
    const longest = ['x'.repeat(4_096), 'é'.repeat(2_048), `${'x'.repeat(4_095)}\\"`];
    const meant = [...longest.slice(0, 2), `${'x'.repeat(4_095)}"`];
    expect(decodedIds([...longest, ...longest])).toEqual([...meant, ...meant]);
    for (const longer of ['x'.repeat(4_097), `${'é'.repeat(2_048)}\\"`])
      expect(() => decodedIds([longer])).toThrow(expect.objectContaining({ code: 'bad-id' }));
  });

  it('take no memory for each way in which one is spelled', () => {
    const dictionary = createSeriesDictionary();
    const decoder = createReadingDecoder({ format: 'ndjson', dictionary, onBatch: () => {} });
    const letters = [...'0190a1b2-c3d4-7000-8000-aaaaaaaaaaaa'];
    const escaped = letters.map((letter) => `\\u${hex(letter.charCodeAt(0), 4)}`);
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let spelling = 0; spelling < 200_000; spelling++) {
      const id = letters.map((letter, at) => ((spelling >> (at % 18)) & 1 ? escaped[at] : letter)).join('');
      decoder.push(Buffer.from(`{"id":"${id}","timestamp":"2026-01-05T00:00:00Z","value":1}\n`));
    }
    decoder.end();
    expect(dictionary.ids).toEqual([letters.join('')]);
    collect();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});
