/** Ids of series. */
import { UNSEEN_CHAR } from './index.ts';

/** An id is a UUID; whatever a service has instead, a line of text is enough. Thousands of ids are held. */
export const MAX_ID_BYTES = 4_096;
/** What is expected where `isSeriesId` says no. */
export const ID_RULE = `an id of at most ${MAX_ID_BYTES} bytes without control or invisible characters`;

const PLAIN = /^[\x20-\x7e]*$/;
const UNSEEN = new RegExp(UNSEEN_CHAR, 'u');

/** Whether a text can be an id. Every answer that names series is held against it: ids go on into SQL, files and screens. */
export function isSeriesId(id: string): boolean {
  return Buffer.byteLength(id) <= MAX_ID_BYTES && (PLAIN.test(id) || !UNSEEN.test(id));
}
