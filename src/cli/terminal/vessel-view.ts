/** Vessels that discovery did not settle, as lines. */
import type { VesselTrouble } from '../../export/events.ts';

const WORDS: Readonly<Record<VesselTrouble['code'], string>> = {
  unlisted: 'not listed',
  'malformed-imo': 'no vessel',
};

export function formatVesselTroubles(troubles: readonly VesselTrouble[]): string {
  return troubles.map(({ vessel, code, message }) => `  ${WORDS[code]}  ${vessel}: ${message}`).join('\n');
}
