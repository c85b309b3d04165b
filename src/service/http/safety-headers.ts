/** What every answer tells a browser: to take it for what it says it is, to run nothing in it, and to keep no copy. */
import type { ServerResponse } from 'node:http';

const SAFETY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  // What is answered depends on the token.
  'cache-control': 'no-store',
};

/** The same, for answers that are written to a socket as they are. */
export const SAFETY_HEADER_LINES: string = Object.entries(SAFETY_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** Set them before anything else does: who knows better sets them again. */
export function setSafetyHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SAFETY_HEADERS)) response.setHeader(name, value);
}
