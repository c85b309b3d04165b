import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CommitFailedError } from '../../src/core/errors.ts';
import type { PartRef } from '../../src/store/store.ts';
import { bytes, collect, expectFault, faultOf, kept, type StoreSuite, textOf } from './store-suite.ts';

const newKey = (suite: StoreSuite) => `${suite.newFolder()}/data.parquet`;
const expectRefused = (code: string | RegExp, act: () => Promise<unknown>) =>
  expectFault(act, CommitFailedError, code);

/** Multipart uploads, and what becomes of them in the hands of a successor. */
export function describeUploads(suite: StoreSuite): void {
  describe('uploads', () => {
    /** An upload with its parts sent. */
    async function sentUpload(contents: readonly Uint8Array[], key = newKey(suite)) {
      const upload = await suite.store.begin(key, randomUUID());
      const parts: PartRef[] = [];
      for (const content of contents) parts.push(await suite.store.append(upload, parts.length + 1, content));
      return { key, upload, parts };
    }

    test('shows nothing before it is completed, then all at once', async () => {
      const key = newKey(suite);
      await suite.store.put(key, bytes('old'));
      const contents = [suite.partBytes('1'), suite.partBytes('2'), bytes('tail')];
      const { upload, parts } = await sentUpload(contents, key);
      expect(await textOf(suite.store, key)).toBe('old');
      expect(await suite.store.publishedBy(upload, parts)).toBe(false);

      await suite.store.publish(upload, parts);
      const found = Buffer.from((await suite.open().get(key))!.bytes);
      expect(found.equals(Buffer.concat(contents))).toBe(true);
      expect(await suite.store.publishedBy(upload, parts)).toBe(true);
      expect(await collect(suite.store.listUploads(key))).toEqual([]);
    });

    test('puts a part that is sent again in the place of the first', async () => {
      const { key, upload, parts } = await sentUpload([suite.partBytes('1'), bytes('second, too long')]);
      const replaced = await suite.store.append(upload, 2, bytes('2nd'));
      await suite.store.publish(upload, [parts[0]!, replaced]);
      expect((await textOf(suite.store, key)).slice(suite.place.minPartBytes)).toBe('2nd');
    });

    test('refuses to complete with a part that was replaced, or publishes what it was, but never another', async () => {
      const key = newKey(suite);
      await suite.store.put(key, bytes('old'));
      const { upload, parts } = await sentUpload([suite.partBytes('1'), bytes('aaaa')], key);
      const replaced = await suite.store.append(upload, 2, bytes('bbbb'));
      if (suite.place.keepsLateParts) {
        await suite.store.publish(upload, parts);
        expect((await textOf(suite.store, key)).slice(suite.place.minPartBytes)).toBe('aaaa');
        return;
      }
      await expectRefused('part-mismatch', () => suite.store.publish(upload, parts));
      expect(await textOf(suite.store, key)).toBe('old');
      await suite.store.publish(upload, [parts[0]!, replaced]);
    });

    test('refuses to complete with a part that was never sent', async () => {
      const { key, upload, parts } = await sentUpload([suite.partBytes('1')]);
      const madeUp = { ...parts[0]!, partNumber: 2 };
      await expectRefused('part-mismatch', () => suite.store.publish(upload, [...parts, madeUp]));
      await expectRefused('part-mismatch', () => suite.open().publish(upload, [...parts, madeUp]));
      expect(await suite.store.head(key)).toBeUndefined();
      await suite.store.abandon(upload);
    });

    test('says that an aborted upload is gone', async () => {
      const { key, upload, parts } = await sentUpload([bytes('x')]);
      await suite.open().abandon(upload);
      await suite.store.abandon(upload);
      if (!suite.place.keepsLateParts)
        await expectRefused('upload-gone', () => suite.store.append(upload, 2, bytes('y')));
      await expectRefused('upload-gone', () => suite.store.publish(upload, parts));
      expect(await suite.store.adopt(upload, parts, randomUUID())).toBeUndefined();
      expect(await suite.store.publishedBy(upload, parts)).toBe(false);
      expect(await suite.store.head(key)).toBeUndefined();
    });

    test('says that a completed upload is gone, and that it was published', async () => {
      const { key, upload, parts } = await sentUpload([bytes('x')]);
      await suite.store.publish(upload, parts);
      const other = suite.open();
      const again = await faultOf(() => other.publish(upload, parts));
      if (suite.place.strict || again !== undefined) expect(again).toMatchObject({ code: 'upload-gone' });
      if (!suite.place.keepsLateParts)
        await expectRefused('upload-gone', () => suite.store.append(upload, 2, bytes('y')));
      expect(await other.adopt(upload, parts, randomUUID())).toBeUndefined();
      expect(await other.publishedBy(kept(upload), kept(parts))).toBe(true);
      await other.abandon(upload);
      expect(await textOf(suite.store, key)).toBe('x');
    });

    test('knows an object that another upload made', async () => {
      const first = await sentUpload([bytes('aaaa')]);
      const { key } = first;
      await suite.store.publish(first.upload, first.parts);
      const second = await sentUpload([bytes('bbbb')], first.key);
      await suite.store.publish(second.upload, second.parts);
      await expectRefused('upload-gone', () => suite.open().publish(first.upload, first.parts));
      expect(await textOf(suite.store, key)).toBe('bbbb');
      expect(await suite.store.publishedBy(first.upload, first.parts)).toBe(false);
      expect(await suite.store.publishedBy(second.upload, second.parts)).toBe(true);
      expect(await suite.store.publishedBy(second.upload, first.parts)).toBe(false);
      const more = [...second.parts, { ...second.parts[0]!, partNumber: 2 }];
      expect(await suite.store.publishedBy(second.upload, more)).toBe(false);
      await suite.store.remove(key);
      expect(await suite.store.publishedBy(second.upload, second.parts)).toBe(false);
    });

    test('is not taken for published because the same bytes are there already', async () => {
      const first = await sentUpload([bytes('same')]);
      await suite.store.publish(first.upload, first.parts);
      const second = await sentUpload([bytes('same')], first.key);
      expect(await suite.store.publishedBy(second.upload, second.parts)).toBe(false);
      await suite.store.publish(second.upload, second.parts);
      expect(await suite.store.publishedBy(second.upload, second.parts)).toBe(true);
    });

    test('drops parts that it is not completed with, or refuses', async () => {
      const { key, upload, parts } = await sentUpload([
        suite.partBytes('1'),
        suite.partBytes('2'),
        bytes('3'),
      ]);
      const fault = await faultOf(() => suite.store.publish(upload, parts.slice(0, 2)));
      if (suite.place.strict || fault === undefined) {
        expect(await suite.store.head(key)).toMatchObject({ sizeBytes: 2 * suite.place.minPartBytes });
      } else {
        expect(fault).toMatchObject({ name: 'CommitFailedError', code: 'part-mismatch' });
        await suite.store.abandon(upload);
      }
    });

    test('replaces exactly the version that is expected', async () => {
      const first = await sentUpload([bytes('first')]);
      const { key } = first;
      await suite.store.publish(first.upload, first.parts, null);
      const { version } = (await suite.store.head(key))!;
      const second = await sentUpload([bytes('second')], first.key);
      const changed = () => suite.open().publish(second.upload, second.parts, null);
      await expectRefused('object-changed', changed);
      expect(await textOf(suite.store, key)).toBe('first');
      await suite.store.publish(second.upload, second.parts, version);
      expect(await textOf(suite.store, key)).toBe('second');
      const third = await sentUpload([bytes('third')], first.key);
      const stale = () => suite.store.publish(third.upload, third.parts, version);
      await expectRefused('object-changed', stale);
      expect(await textOf(suite.store, key)).toBe('second');
      expect(await suite.store.publishedBy(third.upload, third.parts)).toBe(false);
      await suite.store.abandon(third.upload);
    });
  });

  describe('adopted uploads', () => {
    /** Two parts known from a checkpoint, a third that was sent after it. */
    async function predecessor(key = newKey(suite)) {
      const stale = suite.open();
      const upload = await stale.begin(key, randomUUID());
      const known = [
        await stale.append(upload, 1, suite.partBytes('1')),
        await stale.append(upload, 2, suite.partBytes('2')),
      ];
      const late = await stale.append(upload, 3, bytes('stale tail'));
      return { key, stale, upload, known, late };
    }

    test('go on after the known parts', async () => {
      const { key, upload, known } = await predecessor();
      const successor = suite.open();
      const adopted = (await successor.adopt(kept(upload), kept(known), randomUUID()))!;
      expect(adopted.key).toBe(key);
      expect(await collect(suite.store.listUploads(key))).toHaveLength(1);
      const third = await successor.append(adopted, 3, bytes('new tail'));
      await successor.publish(adopted, [...known, third]);
      expect((await textOf(suite.store, key)).slice(2 * suite.place.minPartBytes)).toBe('new tail');
      expect(await successor.publishedBy(adopted, [...known, third])).toBe(true);
    });

    test('drop what was sent after the known parts, or refuse to complete', async () => {
      const { key, upload, known } = await predecessor();
      const successor = suite.open();
      const adopted = (await successor.adopt(upload, known, randomUUID()))!;
      const fault = await faultOf(() => successor.publish(adopted, known));
      if (suite.place.strict || fault === undefined) {
        expect(await suite.store.head(key)).toMatchObject({ sizeBytes: 2 * suite.place.minPartBytes });
      } else {
        expect(fault).toMatchObject({ name: 'CommitFailedError', code: 'part-mismatch' });
        expect(await suite.store.head(key)).toBeUndefined();
        await successor.abandon(adopted);
      }
    });

    test('cannot be completed by the stale writer with its own bytes', async () => {
      const key = newKey(suite);
      await suite.store.put(key, bytes('old'));
      const { stale, upload, known, late } = await predecessor(key);
      const successor = suite.open();
      const adopted = (await successor.adopt(upload, known, randomUUID()))!;
      const third = await successor.append(adopted, 3, bytes('newer tail'));
      const tooLate = () =>
        expectRefused(/^(upload-gone|part-mismatch)$/, () => stale.publish(upload, [...known, late]));
      if (!suite.place.keepsLateParts) await tooLate();
      expect(await textOf(suite.store, key)).toBe('old');
      await successor.publish(adopted, [...known, third]);
      if (suite.place.keepsLateParts) await tooLate();
      expect((await textOf(suite.store, key)).slice(2 * suite.place.minPartBytes)).toBe('newer tail');
    });

    test('are refused when a known part is not as it was', async () => {
      const { upload, known, late } = await predecessor();
      const [first, second] = known as [PartRef, PartRef];
      const wrongs: PartRef[][] = [
        [first, { ...second, sha256: late.sha256, tag: late.tag }],
        [first, { ...second, sizeBytes: second.sizeBytes - 1 }],
        [first, second, late, { ...late, partNumber: 4 }],
      ];
      for (const wrong of wrongs)
        expect(await suite.open().adopt(upload, wrong, randomUUID())).toBeUndefined();
      // A refusal leaves it as it was.
      expect(await suite.open().adopt(upload, known, randomUUID())).toBeDefined();
    });

    test('may have no known part at all', async () => {
      const { key, upload } = await predecessor();
      const successor = suite.open();
      const adopted = (await successor.adopt(upload, [], randomUUID()))!;
      const parts: PartRef[] = [];
      for (const content of [suite.partBytes('a'), suite.partBytes('b'), bytes('c')]) {
        parts.push(await successor.append(adopted, parts.length + 1, content));
      }
      await successor.publish(adopted, parts);
      expect((await textOf(suite.store, key)).slice(-2)).toBe('bc');
    });

    test('can be adopted again by the next one', async () => {
      const { key, upload, known, late } = await predecessor();
      const second = (await suite.open().adopt(upload, known, randomUUID()))!;
      const third = suite.open();
      const adopted = (await third.adopt(second, known.slice(0, 1), randomUUID()))!;
      const parts = [
        known[0]!,
        await third.append(adopted, 2, suite.partBytes('x')),
        await third.append(adopted, 3, bytes('y')),
      ];
      await third.publish(adopted, parts);
      expect((await textOf(suite.store, key)).slice(-2)).toBe('xy');
      expect(await suite.store.publishedBy(adopted, [...known, late])).toBe(false);
    });
  });
}
