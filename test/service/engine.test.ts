import { describe, expect, test } from 'vitest';
import { sql } from '../../src/core/duckdb/sql-text.ts';
import { createEngine } from '../../src/service/data/engine.ts';

/** Hours of work, if nobody ends it. */
const ENDLESS = sql`SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) = 1`;

describe('the engine', () => {
  test('a query ends with its signal, also when that comes before it has begun', async () => {
    const engine = createEngine(undefined);
    const stop = new AbortController();
    await using opened = await engine.connect(stop.signal);
    const running = opened.query((connection) => connection.run(ENDLESS));
    stop.abort(new Error('gone'));
    await expect(running).rejects.toThrow('gone');
    await expect(opened.query((connection) => connection.run(sql`SELECT 1`))).rejects.toThrow('gone');
    await engine.close();
  });

  test('a stream that was interrupted is not taken for one that ended', async () => {
    const engine = createEngine(undefined);
    const stop = new AbortController();
    await using opened = await engine.connect(stop.signal);
    const reading = opened.query(async (connection) => {
      const result = await connection.stream(sql`SELECT i FROM range(100000000) t(i)`);
      await result.fetchChunk();
      stop.abort(new Error('gone'));
      while (((await result.fetchChunk())?.rowCount ?? 0) > 0);
      return 'the end';
    });
    await expect(reading).rejects.toThrow('gone');
    await engine.close();
  });

  test('two queries run at once; the others wait, first come first served, or give up', async () => {
    const engine = createEngine(undefined);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const run = async (name: string, signal?: AbortSignal) => {
      await using opened = await engine.connect(signal);
      await opened.query(() => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });
    };
    const until = async (names: string[]) => {
      while (begun.length < names.length) await new Promise(setImmediate);
      expect(begun).toEqual(names);
    };
    const gaveUp = new AbortController();
    const a = run('a');
    await until(['a']);
    const b = run('b');
    await until(['a', 'b']);
    const c = run('c', gaveUp.signal);
    const d = run('d');
    gaveUp.abort(new Error('gone'));
    await expect(c).rejects.toThrow('gone');
    for (let round = 0; round < 5; round++) await new Promise(setImmediate);
    expect(begun).toEqual(['a', 'b']);
    ends.get('b')!();
    await b;
    await until(['a', 'b', 'd']);
    ends.get('a')!();
    ends.get('d')!();
    await Promise.all([a, d]);
    await engine.close();
  });
});
