/** What a token is taken to live where nobody says so. */
const ASSUMED_LIFETIME_MS = 3_600_000;
/** Whoever says more means "for ever", or counts in another unit. */
const MAX_LIFETIME_MS = 86_400_000;

/**
 * Lifetime of a token in milliseconds: the shorter of its own `exp − iat` (a clock that is off does not matter to that) and
 * the endpoint's `expires_in`, which is less where the endpoint has kept the token for a while. Where neither gives a time
 * ahead, `exp` by our clock, and else an hour. A day at most.
 */
export function lifetimeOf(token: string, expiresIn: unknown, nowMs: number): number {
  const { exp, iat } = claimsOf(token);
  const expMs = typeof exp === 'number' ? exp * 1000 : undefined;
  const toldMs = ahead(secondsOf(expiresIn) * 1000);
  const ownMs = typeof iat === 'number' ? ahead(expMs, iat * 1000) : undefined;
  const knownMs = toldMs ?? ownMs ?? (typeof iat === 'number' ? undefined : ahead(expMs, nowMs));
  return Math.min(knownMs ?? ASSUMED_LIFETIME_MS, ownMs ?? Infinity, MAX_LIFETIME_MS);
}

function ahead(untilMs: number | undefined, fromMs = 0): number | undefined {
  const ms = (untilMs ?? 0) - fromMs;
  return ms > 0 && Number.isFinite(ms) ? ms : undefined;
}

/** Some endpoints send the number as text. */
function secondsOf(value: unknown): number {
  if (typeof value === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : 0;
}

function claimsOf(token: string): { readonly exp?: unknown; readonly iat?: unknown } {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) ?? {};
  } catch {
    return {};
  }
}
