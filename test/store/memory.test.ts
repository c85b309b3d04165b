import { createMemoryStore } from '../helpers/memory-store.ts';
import { describeStore } from './conformance.ts';

describeStore('memory', async () => {
  const store = createMemoryStore();
  return { open: () => store, minPartBytes: 1, strict: true, drop: async () => {} };
});
