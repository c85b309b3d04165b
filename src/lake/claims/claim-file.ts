/** The file of a claim as bytes and back: footers of row groups are base64 there. */
import type { Checkpoint, ClaimFile, OpenCheckpoint } from '../../core/model/index.ts';
import { jsonBytes } from '../json.ts';

export type OwnClaimFile = Omit<ClaimFile, 'checkpoint'> & { readonly checkpoint: OpenCheckpoint | null };

export function claimBytes({ checkpoint, ...rest }: OwnClaimFile): Uint8Array {
  const rowGroups = checkpoint?.rowGroups.map(({ tail, ...group }) => {
    return { ...group, footer: Buffer.from(tail).toString('base64') };
  });
  return jsonBytes({ checkpoint: checkpoint && { ...checkpoint, rowGroups }, ...rest });
}

/** A checkpoint that was read from a claim's file, to go on with. */
export function openCheckpoint({ rowGroups, ...progress }: Checkpoint): OpenCheckpoint {
  const open = ({ footer, ...group }: Checkpoint['rowGroups'][number]) => {
    return { ...group, tail: Buffer.from(footer, 'base64') };
  };
  return { ...progress, rowGroups: rowGroups.map(open) };
}
