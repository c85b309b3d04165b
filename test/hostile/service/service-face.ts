/** The query service as a process of its own, and hostile clients that come from addresses of their own. */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Opened, Target } from '../input.ts';
import type { Measured } from '../measured-process.ts';
import { measure } from '../measured-process.ts';
import type { RawAnswer } from '../raw-http.ts';
import { exchangeBytes, parseAnswers } from '../raw-http.ts';

export const BIN = resolve(import.meta.dirname, '../../../src/bin.js');
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
  readonly tenant: string;
  /** May read VESSEL only. */
  readonly narrow: Credentials & { readonly token: string };
  /** May read everything. */
  readonly wide: Credentials & { readonly token: string };
  /** Time series ids of VESSEL. */
  readonly ownIds: readonly string[];
  /** Time series ids, and names, that the narrow client must never be shown. */
  readonly foreignIds: ReadonlySet<string>;
  readonly foreignVessels: ReadonlySet<string>;
  /** A request of the service, as bytes; `from` is new for every call. */
  bytesOf(asked: Asked): Buffer;
  ask(asked: Asked): Promise<RawAnswer>;
  /** Bytes as they are; all answers that came. */
  raw(bytes: string | Buffer, more?: Pick<Asked, 'waitMs' | 'maxBytes'>): Promise<RawAnswer[]>;
  /** A loopback address that nobody has come from yet. */
  newAddress(): string;
  /** What the service has logged. */
  log(): string;
}

interface StartedService extends Opened<ServiceFace>, AsyncDisposable {}

/** A service that is started anew where an input has harmed it. */
export interface RenewedService extends AsyncDisposable {
  current(): Opened<ServiceFace>;
}

export async function startRenewedService(options: StartOptions): Promise<RenewedService> {
  let started = await startServiceProcess(options);
  const recover = async () => {
    await started[Symbol.asyncDispose]();
    started = await startServiceProcess(options);
  };
  return {
    current: () => ({ face: started.face, target: { ...started.target, recover } }),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
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
export async function startServiceProcess(options: StartOptions): Promise<StartedService> {
  const { folder, dataDir, readingsPerDay = 200_000, tempDir } = options;
  const narrow = { clientId: 'narrow', clientSecret: randomBytes(18).toString('base64url') };
  const wide = { clientId: 'wide', clientSecret: randomBytes(18).toString('base64url') };
  const clients = join(folder, `clients-${randomBytes(4).toString('hex')}.json`);
  await writeFile(
    clients,
    JSON.stringify([
      { ...wide, vessels: '*' },
      { ...narrow, vessels: [VESSEL] },
    ]),
  );
  const data =
    dataDir === undefined
      ? ['--seed', '1', '--vessels', '4', '--readings-per-day', String(readingsPerDay)]
      : ['--data', dataDir];
  const args = ['service', '--host', '127.0.0.1', '--port', '0', '--tenant', 'fleet', '--clients', clients];
  const child = spawn(process.execPath, [BIN, ...args, ...data], {
    env: { PATH: process.env.PATH, ...(tempDir === undefined ? {} : { TMPDIR: tempDir }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  // The last 4 MiB: a log that grows without end must not take this process down.
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    log = (log + more).slice(-4 * 1024 * 1024);
  });
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error(`the service did not start: ${log}`))),
  ])) as [Buffer];
  const { port } = new URL(JSON.parse(line.toString('utf8')).baseUrl);
  const measured = measure(child);
  // Whatever ends this process, the service is not left behind.
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  try {
    return await faceOf(measured, Number(port), { narrow, wide }, () => log);
  } catch (error) {
    await measured.end(0);
    throw error;
  }
}

async function faceOf(
  measured: Measured,
  port: number,
  credentials: { readonly narrow: Credentials; readonly wide: Credentials },
  log: () => string,
): Promise<StartedService> {
  let addresses = 0;
  const newAddress = () => {
    addresses++;
    return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`;
  };
  const tokenOf = async ({ clientId, clientSecret }: Credentials) => {
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const response = await fetch(`http://127.0.0.1:${port}/auth/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const narrow = { ...credentials.narrow, token: await tokenOf(credentials.narrow) };
  const wide = { ...credentials.wide, token: await tokenOf(credentials.wide) };
  const bytesOf = ({ method = 'GET', path, target, authorization, headers = [], body }: Asked): Buffer => {
    const bearer = authorization ?? `Bearer ${narrow.token}`;
    const head = [
      `${method} ${target ?? `/fleet${path ?? '/metadata/flat/x/x'}`} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      'connection: close',
      ...(bearer === '' ? [] : [`authorization: ${bearer}`]),
      ...(body === undefined || headers.some((header) => /^(content-length|transfer-encoding):/i.test(header))
        ? []
        : [`content-length: ${Buffer.byteLength(body)}`]),
      ...headers,
    ];
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(body ?? '')]);
  };
  const raw: ServiceFace['raw'] = async (bytes, more = {}) =>
    parseAnswers(await exchangeBytes({ port, from: newAddress(), bytes, ...more }));
  const ask = async (asked: Asked): Promise<RawAnswer> => {
    const [answer] = await raw(bytesOf(asked), asked);
    return answer ?? { status: 0, headers: {}, body: Buffer.alloc(0), isWhole: false };
  };
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
    ...{ process: measured, port, tenant: 'fleet', narrow, wide, bytesOf, ask, raw, newAddress, log },
    ownIds: own.filter((name) => !name.includes('/')),
    foreignIds: new Set(foreign),
    foreignVessels: new Set(foreign.filter((name) => name.includes('/')).map((name) => name.split('/')[0]!)),
  };
  const honest = honestRequest(face);
  const expected = await honest();
  const target: Target = {
    begin: () => measured.forgetPeak(),
    peakBytes: measured.peakBytes,
    cpuMs: measured.cpuMs,
    recover: async () => {},
    async ailment() {
      if (!measured.isAlive()) return `the service has ended: ${log().slice(-300)}`;
      const peak = measured.peakBytes();
      if (peak > MAX_SERVICE_BYTES) return `the service took ${Math.round(peak / 1024 / 1024)} MB`;
      return (await honest()) === expected ? undefined : 'an honest request afterwards got another answer';
    },
  };
  return { face, target, [Symbol.asyncDispose]: () => measured.end() };
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
