import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import {
  adoptColumnBatch,
  appendJsonText,
  createColumnBatch,
  JSON_TEXT,
} from '../../../src/core/model/index.ts';

/** Does V8 compile the same code for both? */
function createShapeComparison(): (a: object, b: object) => boolean {
  setFlagsFromString('--allow-natives-syntax');
  const haveSameMap = runInNewContext('(a, b) => %HaveSameMap(a, b)');
  // It is compiled when it is called first.
  haveSameMap({}, {});
  setFlagsFromString('--no-allow-natives-syntax');
  return haveSameMap;
}

test('a batch that comes from another thread is adopted as one of this thread', () => {
  const haveSameShape = createShapeComparison();
  const made = createColumnBatch(3);
  made.rows = 2;
  made.timestampMicros.set([1, 2]);
  made.seriesCodes.set([7, 8]);
  made.kinds.set([0, JSON_TEXT]);
  made.longs.set([-5n, 0n]);
  appendJsonText(made.jsonText, Buffer.from('{"a":1}'), 0, 7);
  const sent = structuredClone(made);
  expect(haveSameShape(sent, made)).toBe(false);

  const adopted = adoptColumnBatch(sent);
  expect(haveSameShape(adopted, made)).toBe(true);
  expect(haveSameShape(adopted.jsonText, made.jsonText)).toBe(true);
  expect(adopted).toEqual(made);
  // The memory is that which came: it is used again, not copied.
  expect(adopted.timestampMicros).toBe(sent.timestampMicros);
  expect(adopted.words.buffer).toBe(adopted.doubles.buffer);
});
