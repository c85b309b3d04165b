/** Which version answers, and when a version is gone. */
import type { ApiVersion } from '../../core/model/index.ts';
import { API_VERSION_ENDS, API_VERSIONS, wireShape } from '../../core/model/index.ts';
import { addDays, dateToMicros, MICROS_PER_MILLI } from '../../core/model/time.ts';
import { badRequest } from './http-error.ts';

const OLD_VERSION: ApiVersion = '2025-10-31';
const CURRENT_VERSION: ApiVersion = '2026-09-10';
/** Gone from the day after. */
const OLD_VERSION_ENDS = API_VERSION_ENDS[OLD_VERSION]!;
const OLD_VERSION_GONE_MS = dateToMicros(addDays(OLD_VERSION_ENDS, 1)) / MICROS_PER_MILLI;

/** Version for the header `x-api-version` at an instant, with its name as `api-version` says it. Throws 400 for one that is unknown or gone. */
export function chooseVersion(header: string | undefined, nowMs: number) {
  const served = API_VERSIONS.filter((version) => version !== OLD_VERSION || nowMs < OLD_VERSION_GONE_MS);
  const wanted = header?.trim() || (served.includes(OLD_VERSION) ? OLD_VERSION : CURRENT_VERSION);
  const name = served.find((version) => version === wanted);
  if (name !== undefined) return { name, shape: wireShape(name) };
  const why = wanted === OLD_VERSION ? `was deactivated after ${OLD_VERSION_ENDS}` : 'is not known';
  throw badRequest(`version '${wanted.slice(0, 40)}' ${why}; x-api-version may be ${served.join(', ')}`);
}
