/** Checks an address: its name, its port, its certificate, in the order in which a client needs them. */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { cleanForeignText, messageOf } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';
import { CERTIFICATE_CODES } from '../../core/model/web-address.ts';
import { type CheckResult, type Finding, failed, inTime, resultsOf, warning } from './result.ts';

/** A certificate that expires within this time gives a warning. */
const CERTIFICATE_DAYS = 14;
const MS_PER_DAY = 86_400_000;

/** Check the origin of an address that comes from `setting`. It stops at the first failure. */
export async function* checkNetwork(url: URL, setting: string, clock: Clock): AsyncGenerator<CheckResult> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const at = { host, port, setting, clock };
  for (const [check, look] of Object.entries(url.protocol === 'https:' ? { ...CHECKS, tls } : CHECKS)) {
    const result = resultsOf('service')(check, await look(at));
    yield result;
    if (result.state === 'failed') return;
  }
}

type Place = Readonly<{ host: string; port: number; setting: string; clock: Clock }>;

const CHECKS = { name, connection };

async function name({ host, setting, clock }: Place): Promise<Finding> {
  if (isIP(host) !== 0) return `${host} is an address`;
  try {
    const { address } = await inTime(clock, `the name ${host}`, () => lookup(host));
    return `${host} is ${address}`;
  } catch (error) {
    const why = cleanForeignText(messageOf(error), [], 200);
    return failed('host-unknown', `the name '${host}' cannot be resolved (${why}): check ${setting}`);
  }
}

async function connection({ host, port, setting, clock }: Place): Promise<Finding> {
  const where = `port ${port} of ${host}`;
  try {
    await inTime(clock, where, async (signal) => {
      const socket = connect({ host, port, signal });
      await once(socket, 'connect').finally(() => socket.destroy());
    });
    return `${where} is open`;
  } catch (error) {
    const advice = `check ${setting}, that the service runs, and what firewalls let through`;
    return failed('service-unreachable', `${where} cannot be reached (${reasonOf(error)}): ${advice}`);
  }
}

async function tls({ host, port, setting, clock }: Place): Promise<Finding> {
  const servername = isIP(host) === 0 ? { servername: host } : {};
  let validTo = Number.NaN;
  try {
    await inTime(clock, `TLS with ${host}`, async (signal) => {
      const socket = connectTls({ host, port, ...servername });
      const look = () => Date.parse(socket.getPeerCertificate().valid_to);
      const opened = once(socket, 'secureConnect', { signal }).then(look);
      validTo = await opened.finally(() => socket.destroy());
    });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!CERTIFICATE_CODES.test(code)) {
      const found = `TLS with port ${port} of ${host} fails (${reasonOf(error)})`;
      return failed('tls-failed', `${found}: check ${setting}, and that https is what is spoken there`);
    }
    const advice =
      code === 'CERT_HAS_EXPIRED'
        ? 'inform the operator of the service, and check the clock of this machine'
        : `check the host name in ${setting}, or name the issuing authority in NODE_EXTRA_CA_CERTS`;
    const found = `the certificate of ${host} does not verify (${reasonOf(error)})`;
    return failed('certificate-refused', `${found}: ${advice}`);
  }
  const days = Math.floor((validTo - clock.nowMs()) / MS_PER_DAY);
  if (Number.isNaN(days)) return `the certificate of ${host} verifies`;
  const until = `until ${new Date(validTo).toISOString().slice(0, 10)}`;
  if (days >= CERTIFICATE_DAYS) return `the certificate of ${host} verifies, ${until}`;
  const found = `the certificate of ${host} is valid ${until} only: inform the operator of the service`;
  return warning('certificate-ends', found);
}

function reasonOf(error: unknown): string {
  // Node reports several addresses that refuse as one error without a message.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { code } = first as NodeJS.ErrnoException;
  const text = cleanForeignText(messageOf(first), [], 200);
  return code === undefined || text.includes(code) ? text : `${code}: ${text}`;
}
