// @ts-check
/** An object of the lake that is read by ranges, through the server, and always in the version that was first seen. */

/** The object was published again: what was read of it belongs to another version. */
export class ReplacedError extends Error {}

/** The server said no. `status` as HTTP has it. */
export class ReadError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.name = 'ReadError';
    this.status = status;
  }
}

/** Kept of what was read: a second curve needs the same dictionary and indexes. */
const MAX_KEPT_BYTES = 64 << 20;
/** Of a server that is busy. */
const MAX_TRIES = 8;
const MAX_WAIT_MS = 5_000;

/**
 * @typedef {{ bytes: number, requests: number }} ReadTally
 * @typedef {object} RangedFile an AsyncBuffer of hyparquet
 * @property {number} byteLength
 * @property {(start: number, end?: number) => Promise<ArrayBuffer>} slice throws ReplacedError, ReadError
 * @property {ReadTally} tally what has gone over the wire
 */

/**
 * @param {{ url: string, sizeBytes: number, etag: string | null }} object
 * @param {AbortSignal} signal
 * @param {(tally: ReadTally) => void} [onRead]
 * @returns {RangedFile}
 */
export function openRangedFile({ url, sizeBytes, etag }, signal, onRead = () => {}) {
  /** @type {ReadTally} */
  const tally = { bytes: 0, requests: 0 };
  /** @type {{ from: number, to: number, bytes: Promise<ArrayBuffer> }[]} The oldest first. */
  let kept = [];

  /** @param {number} from @param {number} to @returns {Promise<ArrayBuffer>} */
  async function read(from, to) {
    /** @type {Record<string, string>} */
    const headers = { range: `bytes=${from}-${to - 1}`, ...(etag === null ? {} : { 'if-match': etag }) };
    const ask = () =>
      fetch(new URL(url, location.origin), { headers, signal, redirect: 'error' }).catch((error) => {
        if (signal.aborted) throw error;
        throw new ReadError(0, 'the server does not answer');
      });
    let answer = await ask();
    // Others read much: it passes.
    for (let tries = 1; answer.status === 503 && tries < MAX_TRIES; tries++) {
      const waitMs = (Number(answer.headers.get('retry-after')) || 2) * 1_000;
      await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, MAX_WAIT_MS)));
      answer = await ask();
    }
    if (answer.status === 412) throw new ReplacedError('the day was published again meanwhile');
    if (answer.status !== 206) throw new ReadError(answer.status, await messageOf(answer));
    const bytes = await answer.arrayBuffer();
    tally.requests++;
    tally.bytes += bytes.byteLength;
    onRead(tally);
    if (bytes.byteLength !== to - from)
      throw new ReadError(answer.status, `the server sent ${bytes.byteLength} bytes of ${to - from}`);
    return bytes;
  }

  return {
    byteLength: sizeBytes,
    tally,
    async slice(start, end = sizeBytes) {
      const [from, to] = [Math.max(0, start), Math.min(sizeBytes, end)];
      if (to <= from) return new ArrayBuffer(0);
      let found = kept.find((range) => range.from <= from && range.to >= to);
      if (found === undefined) {
        const range = { from, to, bytes: read(from, to) };
        found = range;
        kept.push(range);
        range.bytes.catch(() => {
          kept = kept.filter((one) => one !== range);
        });
        let total = kept.reduce((sum, one) => sum + one.to - one.from, 0);
        while (total > MAX_KEPT_BYTES && kept.length > 1) {
          const oldest = /** @type {(typeof kept)[number]} */ (kept.shift());
          total -= oldest.to - oldest.from;
        }
      }
      return (await found.bytes).slice(from - found.from, to - found.from);
    },
  };
}

/** @param {Response} answer @returns {Promise<string>} */
async function messageOf(answer) {
  try {
    const { error } = await answer.json();
    return typeof error?.message === 'string' ? error.message : `the server answered ${answer.status}`;
  } catch {
    return `the server answered ${answer.status}`;
  }
}
