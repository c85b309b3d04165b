/**
 * A claim's file as text. A checkpoint names every row group so far, in the end a megabyte and a half of a large day, and is
 * written for each part: so each row group becomes text once, at the begin of memory that is used again, and behind them
 * stands what changes.
 */
import type { Checkpoint, ClaimFile, OpenCheckpoint, SplicedRowGroup } from '../../core/model/index.ts';
import { jsonBytes } from '../json.ts';

/** A claim's file as its owner has it. */
export type OwnClaimFile = Omit<ClaimFile, 'checkpoint'> & { readonly checkpoint: OpenCheckpoint | null };

/** The JSON of a claim's file, with a line end. Good until the next call, which writes to the same memory. */
type ClaimText = (file: OwnClaimFile) => Uint8Array;

const HEAD = '{"checkpoint":{"rowGroups":[';
const FIRST_BYTES = 64 * 1024;

export function createClaimText(): ClaimText {
  let memory = Buffer.alloc(0);
  let written: readonly SplicedRowGroup[] = [];
  /** Where the text of those ends. */
  let end = 0;

  /** Where the text ends that is put there. */
  function put(text: string, at: number): number {
    const needed = at + Buffer.byteLength(text);
    if (needed > memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * memory.length, FIRST_BYTES));
      memory.copy(larger, 0, 0, at);
      memory = larger;
    }
    return at + memory.write(text, at);
  }

  return ({ checkpoint, ...rest }) => {
    if (checkpoint === null) {
      memory = Buffer.alloc(0);
      written = [];
      return jsonBytes({ ...rest, checkpoint });
    }
    const { rowGroups, ...progress } = checkpoint;
    const isGoingOn = written.length > 0 && written.every((group, i) => group === rowGroups[i]);
    const known = isGoingOn ? written.length : 0;
    // Until all of them are there: whoever fails on the way has the next begin anew.
    written = [];
    if (!isGoingOn) end = put(HEAD, 0);
    for (const [i, group] of rowGroups.entries())
      if (i >= known) end = put(`${i === 0 ? '' : ','}${JSON.stringify(rowGroupText(group))}`, end);
    written = rowGroups;
    const withoutBrace = (part: object) => JSON.stringify(part).slice(1);
    const fileEnd = put(`],${withoutBrace(progress)},${withoutBrace(rest)}\n`, end);
    return memory.subarray(0, fileEnd);
  };
}

function rowGroupText({ bodyBytes, tail, rows }: SplicedRowGroup): Checkpoint['rowGroups'][number] {
  const footer = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength).toString('base64');
  return { bodyBytes, footer, rows };
}

/** A checkpoint that was read from a claim's file, to go on with. */
export function openCheckpoint({ rowGroups, ...progress }: Checkpoint): OpenCheckpoint {
  return {
    ...progress,
    rowGroups: rowGroups.map(({ bodyBytes, footer, rows }) => {
      return { bodyBytes, tail: Buffer.from(footer, 'base64'), rows };
    }),
  };
}
