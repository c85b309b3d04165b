import type { Settings } from './variables.ts';

/** At which provider people sign in with their own names; undefined: at none. */
export function providerSettings(settings: Partial<Settings>) {
  const { WEB_OIDC_ISSUER: issuer, WEB_OIDC_CLIENT_ID: clientId, PUBLIC_URL } = settings;
  const { WEB_OIDC_CLIENT_SECRET: clientSecret, WEB_OIDC_SCOPE: scope = 'openid' } = settings;
  const { WEB_OIDC_NAME_CLAIM: nameClaim = 'sub', WEB_OIDC_GROUPS_CLAIM: groupsClaim = 'groups' } = settings;
  if (
    issuer === undefined ||
    clientId === undefined ||
    clientSecret === undefined ||
    PUBLIC_URL === undefined
  )
    return undefined;
  const redirectUri = `${PUBLIC_URL}/api/session/provider/return`;
  return { issuer, clientId, clientSecret, scope, nameClaim, groupsClaim, redirectUri };
}
