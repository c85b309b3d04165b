/** The query service as a process of its own, and hostile clients that come from addresses of their own. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Opened, Target } from '../input.ts';
import type { Measured } from '../measured-process.ts';
import { startCommand } from '../measured-process.ts';
import type { RawAnswer } from '../raw-http.ts';
import { exchange, exchangeOne, loopbackAddresses, requestBytes } from '../raw-http.ts';

export const VESSEL = 'IMO9321483';
/** What the narrow client may not see. */
export const FOREIGN = 'IMO9322853';
/** Resident memory that the service must stay below. */
export const MAX_SERVICE_BYTES = 600 * 1024 * 1024;
/** Tells a hang from work, on a machine with a lot to do too. */
const HONEST_WAIT_MS = 30_000;

export interface Asked {
  readonly method?: string;
  /** Everything between method and version; default: below the base URL. */
  readonly target?: string;
  /** Below the base URL. */
  readonly path?: string;
  /** Absent: the narrow client's token; `''`: none. */
  readonly authorization?: string;
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  readonly waitMs?: number;
  /** So much of the answer is read. */
  readonly maxBytes?: number;
}

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ServiceFace {
  readonly process: Measured;
  readonly port: number;
  /** May read VESSEL only. */
  readonly narrow: Credentials & { readonly token: string };
  /** May read everything. */
  readonly wide: Credentials & { readonly token: string };
  /** Time series ids of VESSEL. */
  readonly ownIds: readonly string[];
  /** Time series ids, and names, that the narrow client must never be shown. */
  readonly foreignIds: ReadonlySet<string>;
  readonly foreignVessels: ReadonlySet<string>;
  /** A request of the service, as bytes. */
  bytesOf(asked: Asked): Buffer;
  ask(asked: Asked): Promise<RawAnswer>;
  /** Bytes as they are; all answers that came. */
  raw(bytes: string | Buffer, more?: Pick<Asked, 'waitMs' | 'maxBytes'>): Promise<RawAnswer[]>;
  /** A loopback address that nobody has come from yet. */
  newAddress(): string;
  /** What the service has logged. */
  log(): string;
}

export interface StartOptions {
  /** A folder of its own for the clients file. */
  readonly folder: string;
  /** Exported lake to serve instead of the made-up fleet. */
  readonly dataDir?: string;
  readonly readingsPerDay?: number;
  /** Folder for the service's temporary files; default: the system's. */
  readonly tempDir?: string;
}

/** Starts `vessel-export service` on a free port; resolves when it listens. */
export async function startServiceProcess(
  options: StartOptions,
): Promise<Opened<ServiceFace> & AsyncDisposable> {
  const { folder, dataDir, readingsPerDay = 200_000, tempDir } = options;
  const secrets = {
    wide: { clientId: 'wide', clientSecret: randomBytes(18).toString('base64url') },
    narrow: { clientId: 'narrow', clientSecret: randomBytes(18).toString('base64url') },
  };
  const clients = join(folder, `clients-${randomBytes(4).toString('hex')}.json`);
  const all = [
    { ...secrets.wide, vessels: '*' },
    { ...secrets.narrow, vessels: [VESSEL] },
  ];
  await writeFile(clients, JSON.stringify(all));
  const madeUp = ['--seed', '1', '--vessels', '4', '--readings-per-day', String(readingsPerDay)];
  return await startCommand(
    [
      ...['service', '--host', '127.0.0.1', '--port', '0', '--tenant', 'fleet', '--clients', clients],
      ...(dataDir === undefined ? madeUp : ['--data', dataDir]),
    ],
    tempDir === undefined ? {} : { TMPDIR: tempDir },
    (process, said, log) => faceOf(process, Number(new URL(JSON.parse(said).baseUrl).port), secrets, log),
  );
}

async function faceOf(
  process: Measured,
  port: number,
  secrets: { readonly narrow: Credentials; readonly wide: Credentials },
  log: () => string,
): Promise<Opened<ServiceFace> & AsyncDisposable> {
  const withToken = async (credentials: Credentials) => {
    const { clientId, clientSecret } = credentials;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const response = await fetch(`http://127.0.0.1:${port}/auth/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: token } = (await response.json()) as { access_token: string };
    return { ...credentials, token };
  };
  const [narrow, wide] = [await withToken(secrets.narrow), await withToken(secrets.wide)];
  const newAddress = loopbackAddresses();
  const bytesOf = ({ method = 'GET', path, target, authorization, headers = [], body }: Asked): Buffer => {
    const bearer = authorization ?? `Bearer ${narrow.token}`;
    const own = [`host: 127.0.0.1:${port}`, ...(bearer === '' ? [] : [`authorization: ${bearer}`])];
    const line = `${method} ${target ?? `/fleet${path ?? '/metadata/flat/x/x'}`}`;
    return requestBytes(line, [...own, ...headers], body);
  };
  const raw: ServiceFace['raw'] = (bytes, more = {}) =>
    exchange({ port, from: newAddress(), bytes, ...more });
  const ask = (asked: Asked) => exchangeOne({ port, from: newAddress(), ...asked, bytes: bytesOf(asked) });
  const series = async (vessel: string) => {
    const answer = await ask({
      path: `/metadata/flat/${vessel}/*`,
      authorization: `Bearer ${wide.token}`,
      headers: ['x-api-version: 2026-09-10'],
    });
    const found = JSON.parse(answer.body.toString('utf8')) as { timeSeriesId: string; id: string }[];
    return found.flatMap(({ timeSeriesId, id }) => [timeSeriesId, id]);
  };
  const own = await series(VESSEL);
  const all = await series('*');
  const foreign = all.filter((name) => !own.includes(name));
  const face: ServiceFace = {
    ...{ process, port, narrow, wide, bytesOf, ask, raw, newAddress, log },
    ownIds: own.filter((name) => !name.includes('/')),
    foreignIds: new Set(foreign),
    foreignVessels: new Set(foreign.filter((name) => name.includes('/')).map((name) => name.split('/')[0]!)),
  };
  const honest = honestRequest(face);
  const expected = await honest();
  const target: Target = {
    ...{ begin: process.forgetPeak, peakBytes: process.peakBytes, cpuMs: process.cpuMs },
    async ailment() {
      if (!process.isAlive()) return `the service has ended: ${log().slice(-300)}`;
      const peak = process.peakBytes();
      if (peak > MAX_SERVICE_BYTES) return `the service took ${Math.round(peak / 1024 / 1024)} MB`;
      return (await honest()) === expected ? undefined : 'an honest request afterwards got another answer';
    },
  };
  return { face, target, [Symbol.asyncDispose]: () => process.end() };
}

/** A small honest request whose answer is always the same; its status and digest. */
function honestRequest(face: ServiceFace): () => Promise<string> {
  const asked = {
    path: `/measurements/flat/${VESSEL}/S*?from=2026-01-05T00:00:00Z&to=2026-01-05T00:10:00Z`,
    authorization: `Bearer ${face.wide.token}`,
    waitMs: HONEST_WAIT_MS,
  };
  return async () => {
    const { status, body, isWhole } = await face.ask(asked);
    return `${status} ${isWhole} ${createHash('sha256').update(body).digest('hex')}`;
  };
}
