import { join } from 'node:path';

/** For processes that begin at a file of `test`: modules as they were compiled before, where `src/bin.js` has them. Half of a start. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/compiled'),
} as const;
