import { afterAll, beforeAll, describe } from 'vitest';
import type { ObjectStore } from '../../src/store/store.ts';
import { describeLists } from './conformance-lists.ts';
import { describeObjects } from './conformance-objects.ts';
import { describeUploads } from './conformance-uploads.ts';
import type { StorePlace, StoreSuite } from './store-suite.ts';

/** Every sentence of the port, or some, checked on a real store. */
export function describeStore(
  name: string,
  makePlace: () => Promise<StorePlace>,
  sentences = [describeObjects, describeLists, describeUploads],
): void {
  describe(`${name}: the object store port`, () => {
    let place: StorePlace;
    let store: ObjectStore;
    let folders = 0;
    const opened: ObjectStore[] = [];
    const open = (): ObjectStore => {
      const another = place.open();
      opened.push(another);
      return another;
    };
    const suite: StoreSuite = {
      get place() {
        return place;
      },
      get store() {
        return store;
      },
      open,
      newFolder: () => `case-${++folders}`,
      partBytes: (text) => Buffer.alloc(place.minPartBytes, text),
    };

    beforeAll(async () => {
      place = await makePlace();
      store = open();
    });
    afterAll(async () => {
      await Promise.all(opened.map((each) => each.close()));
      await place?.drop();
    });

    for (const describeSome of sentences) describeSome(suite);
  });
}
