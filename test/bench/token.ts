const TOKEN_SECONDS = 3600;

/** The body of a token endpoint whose tokens nobody checks. */
export function tokenBody(): string {
  const now = Math.floor(Date.now() / 1000);
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const jwt = [{ alg: 'none' }, { iat: now, exp: now + TOKEN_SECONDS }].map(encoded).join('.');
  return JSON.stringify({ access_token: `${jwt}.` });
}
