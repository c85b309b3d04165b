import type { ClaimFile, VesselDay } from '../../src/core/model/index.ts';
import { findClaims } from '../../src/lake/claims/claims.ts';
import type { ObjectStore } from '../../src/store/store.ts';

/** The claim files of a vessel-day, the highest epoch first. */
export async function readClaims(store: ObjectStore, day: VesselDay): Promise<ClaimFile[]> {
  return (await findClaims(store, day)).map(({ file, damage }) => {
    if (file === undefined) throw damage;
    return file;
  });
}
