/** Faults that act before a body exists: statuses, and what is served instead of the data. */
import type { Family, TimeRange } from '../../../src/core/model/index.ts';
import { MICROS_PER_SECOND } from '../../../src/core/model/index.ts';
import type { DataSource } from '../../../src/service/data/source.ts';
import { HttpError } from '../../../src/service/http/http-error.ts';
import type { Fault } from './faults.ts';
import { Overlay, withOverlay } from './overlay.ts';

/** Throws the answer that a fault gives instead of a body. */
export function refuseByFault(
  fault: Fault | undefined,
  range: TimeRange | undefined,
  revoke: () => void,
): void {
  switch (fault?.kind) {
    case 'status': {
      const headers = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
      throw new HttpError(fault.status, fault.message ?? `status ${fault.status} by a fault`, headers);
    }
    case 'redirect':
      throw new HttpError(fault.status ?? 302, 'moved by a fault', { location: fault.location });
    case 'revoke-tokens':
      revoke();
      throw new HttpError(401, 'the token has been revoked by a fault', { 'www-authenticate': 'Bearer' });
    case 'refuse-long-ranges': {
      const seconds = range === undefined ? 0 : (range.toMicros - range.fromMicros) / MICROS_PER_SECOND;
      if (seconds > fault.overSeconds)
        throw new HttpError(
          fault.status,
          `the range of ${seconds} s is too large; at most ${fault.overSeconds} s`,
        );
    }
  }
}

/** The source as a fault makes a request see it. */
export function faultySource(source: DataSource, fault: Fault | undefined, family: Family): DataSource {
  if (family === 'statistics' && fault?.kind === 'statistics-empty')
    return { ...source, read: async function* () {} };
  const overlay = new Overlay();
  if (family === 'measurements' && fault?.kind === 'drop-rows')
    overlay.removeReadings(fault.timeSeriesId, fault.range, fault.every);
  else if (family === 'measurements' && fault?.kind === 'other-rows') {
    overlay.removeReadings(fault.timeSeriesId, fault.range);
    for (const row of fault.rows) overlay.addReadings(row.timeSeriesId, [row]);
  } else if (family === 'measurements' && fault?.kind === 'add-rows')
    for (const row of fault.rows) overlay.addReadings(row.timeSeriesId, [row]);
  else if (family === 'statistics' && fault?.kind === 'statistics-lag')
    overlay.removeReadings(undefined, { fromMicros: fault.toMicros, toMicros: Number.POSITIVE_INFINITY });
  else return source;
  return withOverlay(source, overlay);
}
