/** The variables about the page: who may look and act, how they are known, and what stands in front of it. */
import { z } from 'zod';
import { isInClear, readNetworks, readWebAddress } from '../../core/model/web-address.ts';
import { textList, type Variable } from './variable.ts';

const password = z.string().min(12);
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/)
  .transform((text) => text.toLowerCase());
const claimName = z.string().regex(/^[\x21-\x7e]{1,200}$/);
const GROUPS_RULE = 'names separated by commas';

export const WEB_VARIABLES = [
  {
    name: 'PUBLIC_URL',
    meaning: 'address under which people open the page',
    rule: 'an http(s) URL without a path, such as https://vessels.example.com',
    schema: z
      .string()
      .transform((text) => readWebAddress(text))
      .refine((url) => url !== undefined && url.href === `${url.origin}/`)
      .transform((url) => url!.origin),
    optional: true,
  },
  {
    name: 'TRUSTED_PROXY',
    meaning: 'proxies in front of HTTP_PORT: their X-Forwarded-For and WEB_USER_HEADER are believed',
    rule: 'addresses and networks (at most /8, or /7 of IPv6) separated by commas, such as 10.0.0.0/8, or not set: nobody is believed',
    schema: z.string().refine((text) => readNetworks(text) !== undefined),
    optional: true,
  },
  {
    name: 'WEB_READ_PASSWORD',
    meaning: 'password with which one may look at the page',
    rule: 'at least 12 characters, or not set: open where HTTP_HOST is this machine alone, else not served',
    schema: password,
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'WEB_ACT_PASSWORD',
    meaning: 'password with which one may act by the page, and look at it',
    rule: 'at least 12 characters and not WEB_READ_PASSWORD, or not set: nobody acts by a password',
    schema: password,
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'WEB_USER_HEADER',
    meaning: 'header in which a proxy of TRUSTED_PROXY names who asks',
    rule: 'the name of a header, such as X-Forwarded-User',
    schema: headerName,
    optional: true,
  },
  {
    name: 'WEB_GROUPS_HEADER',
    meaning: 'header in which it names their groups, separated by commas',
    rule: 'the name of a header, such as X-Forwarded-Groups',
    schema: headerName,
    optional: true,
  },
  {
    name: 'WEB_OIDC_ISSUER',
    meaning: 'OpenID provider at which people sign in with their own names',
    rule: 'an http(s) URL, as the provider calls itself',
    schema: z.string().refine((text) => readWebAddress(text) !== undefined && !/[?#@]/.test(text)),
    optional: true,
  },
  {
    name: 'WEB_OIDC_CLIENT_ID',
    meaning: 'client id there; its redirect URI is PUBLIC_URL/api/session/provider/return',
    rule: 'not empty',
    schema: z.string().min(1),
    optional: true,
  },
  {
    name: 'WEB_OIDC_CLIENT_SECRET',
    meaning: 'client secret there',
    rule: 'at least 12 characters',
    schema: password,
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'WEB_OIDC_SCOPE',
    meaning: 'what is asked of the provider',
    rule: 'scopes separated by spaces, openid among them',
    schema: z.string().refine((text) => text.split(' ').includes('openid')),
    fallback: () => 'openid profile email',
  },
  {
    name: 'WEB_OIDC_NAME_CLAIM',
    meaning: 'claim that is the name of who has signed in; the log has it',
    rule: 'the name of a claim',
    schema: claimName,
    fallback: () => 'preferred_username',
  },
  {
    name: 'WEB_OIDC_GROUPS_CLAIM',
    meaning: 'claim that is held against WEB_READ_GROUPS and WEB_ACT_GROUPS',
    rule: 'the name of a claim: a text or a list of them',
    schema: claimName,
    fallback: () => 'groups',
  },
  {
    name: 'WEB_READ_GROUPS',
    meaning: 'who of those that provider or proxy names may look at the page: these groups',
    rule: `${GROUPS_RULE}, or not set: all of them`,
    schema: textList,
    optional: true,
  },
  {
    name: 'WEB_ACT_GROUPS',
    meaning: 'who of them may act by the page, and look at it: these groups',
    rule: `${GROUPS_RULE}, or not set: none of them`,
    schema: textList,
    optional: true,
  },
] as const satisfies readonly Variable[];

type WebVariable = (typeof WEB_VARIABLES)[number];
type WebSettings = {
  readonly [Name in WebVariable['name']]?: z.output<Extract<WebVariable, { readonly name: Name }>['schema']>;
};

/** What is wrong with them together: the variable to change, and a sentence. */
export function webFaults(settings: WebSettings): [WebVariable['name'], fault: string][] {
  const faults: [WebVariable['name'], string][] = [];
  const isMissing = (name: WebVariable['name']) => settings[name] === undefined;
  const needs = (name: WebVariable['name'], ...needed: readonly WebVariable['name'][]) => {
    const missing = isMissing(name) ? [] : needed.filter(isMissing);
    if (missing.length > 0) faults.push([name, `set without ${missing.join(', ')}, expected these too`]);
  };
  const { WEB_READ_PASSWORD, WEB_ACT_PASSWORD, WEB_OIDC_ISSUER, PUBLIC_URL } = settings;
  if (WEB_ACT_PASSWORD !== undefined && WEB_ACT_PASSWORD === WEB_READ_PASSWORD)
    faults.push([
      'WEB_ACT_PASSWORD',
      'equal to WEB_READ_PASSWORD, so that whoever may look could act, expected another password',
    ]);
  needs('WEB_USER_HEADER', 'TRUSTED_PROXY');
  needs('WEB_GROUPS_HEADER', 'WEB_USER_HEADER');
  needs('WEB_OIDC_ISSUER', 'WEB_OIDC_CLIENT_ID', 'WEB_OIDC_CLIENT_SECRET', 'PUBLIC_URL');
  for (const name of ['WEB_OIDC_CLIENT_ID', 'WEB_OIDC_CLIENT_SECRET'] as const)
    needs(name, 'WEB_OIDC_ISSUER');
  for (const name of ['WEB_READ_GROUPS', 'WEB_ACT_GROUPS'] as const)
    if (!isMissing(name) && isMissing('WEB_OIDC_ISSUER') && isMissing('WEB_USER_HEADER'))
      faults.push([name, 'set, and nobody names people, expected WEB_OIDC_ISSUER or WEB_USER_HEADER too']);
  if (WEB_OIDC_ISSUER !== undefined && PUBLIC_URL !== undefined && isInClear(new URL(PUBLIC_URL)))
    faults.push([
      'PUBLIC_URL',
      `got plain http to '${new URL(PUBLIC_URL).host}', which would show codes and cookies to the network; expected https`,
    ]);
  return faults;
}
