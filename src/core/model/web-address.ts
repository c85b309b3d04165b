/** What an address says, by the parser that the client connects with: never by its text, which has many spellings. */
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Bound on the service's address, which stands in every receipt: no request could be longer. */
export const MAX_ADDRESS_CHARS = 2_000;

/** An http or https address; undefined for any other text. */
export function readWebAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** Without its percent-encoding; undefined where that is not whole. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** True without TLS whose certificates are checked, to any host but this machine's own addresses and the name `localhost`. */
export function isInClear(url: URL, isTlsChecked = true): boolean {
  return !(isTlsChecked && isTls(url)) && !isLoopbackHost(url.hostname);
}

export function isTls({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'rediss:';
}

/** Certificates that do not verify: no retry makes them valid, and nothing is sent to such a peer. */
export const CERTIFICATE_CODES =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|CRL_|ERROR_IN_CERT_)/;

/** Is it one of this machine's own addresses, `[::1]` too, or the name `localhost`? */
export function isLoopbackHost(hostname: string): boolean {
  if (hostname.toLowerCase() === 'localhost') return true;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const loopback = new BlockList();
  loopback.addSubnet('127.0.0.0', 8, 'ipv4');
  loopback.addAddress('::1', 'ipv6');
  // An IPv4 address in IPv6 notation counts as what it maps.
  return loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
}

/** A test against addresses and networks separated by commas; undefined for other text, and for networks wider than private ones. */
export function readNetworks(text: string): ((address: string | undefined) => boolean) | undefined {
  const list = new BlockList();
  for (const one of text.split(',')) {
    const [address = '', bits, ...more] = one.trim().split('/');
    const [family, widest, most] = isIPv6(address) ? (['ipv6', 7, 128] as const) : (['ipv4', 8, 32] as const);
    if (isIP(address) === 0 || more.length > 0) return undefined;
    if (bits === undefined) list.addAddress(address, family);
    else if (/^\d{1,3}$/.test(bits) && Number(bits) >= widest && Number(bits) <= most)
      list.addSubnet(address, Number(bits), family);
    else return undefined;
  }
  return (address = '') => isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * An address as it may be shown: a password becomes `***`, and a lone user name, which may be a token, or with `isUserSecret` any. The last `@` ends
 * them, because people forget to escape the one in a password.
 */
export function maskUrl(whole: string, isUserSecret = false): string {
  // That of a shared access signature.
  const text = whole.replace(/([?&]sig=)[^&#]*/gi, '$1***');
  // A container, by the rules of its names, is no secret.
  if (/^abfss:\/\/[a-z0-9-]*@[^@]*$/.test(text)) return text;
  return text.replace(
    /^([^:/\\@]*:(?=[/\\])[/\\]*)?(.*)@/s,
    (found, scheme: string = '', userInfo: string) => {
      const colon = userInfo.indexOf(':');
      if (colon >= 0) return `${scheme}${isUserSecret ? '' : `${userInfo.slice(0, colon)}:`}***@`;
      return scheme === '' || /[/\\]/.test(userInfo) ? found : `${scheme}***@`;
    },
  );
}

/** What the address of a Redis must be, in words. */
export const REDIS_URL_RULE = 'redis://[user:password@]host[:port][/database], or rediss:// for TLS';

/** Is it one, with a name and a password that can be decoded? */
export function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}
