/** `vessel-export web` as a process of its own, and hostile clients that come from addresses of their own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { objectKey } from '../../../src/lake/keys.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { ACT_HEADERS, signIn as webSignIn } from '../../helpers/web.ts';
import type { Opened, Target } from '../input.ts';
import type { Measured } from '../measured-process.ts';
import { measure, starvedMs } from '../measured-process.ts';
import type { RawAnswer } from '../raw-http.ts';
import { exchangeBytes, parseAnswers } from '../raw-http.ts';
import { BIN } from '../service/service-face.ts';

export const READ_PASSWORD = 'a password to look';
export const ACT_PASSWORD = 'a password to act!';
export const USER_HEADER = 'x-forwarded-user';
/** Resident memory that the process must stay below: the manifest gives it 1 GiB. */
export const MAX_PAGE_BYTES = 600 * 1024 * 1024;
/** Whoever probes waits so long, but for what a machine with much else to do lets both processes wait for it. */
const HEALTH_MS = 2_000;
const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
export const OBJECT_PATH = `/api/jobs/${DAY.job}/days/${DAY.vessel}/${DAY.date}/object`;
const OBJECT_BYTES = 64 << 20;

export interface PageAsked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Default: a new address. */
  readonly from?: string;
}

export interface PageFace {
  readonly process: Measured;
  readonly port: number;
  /** Of somebody who may look. */
  readonly cookie: string;
  bytesOf(asked: PageAsked): Buffer;
  ask(asked: PageAsked): Promise<RawAnswer>;
  newAddress(): string;
  log(): string;
  /** Asks `/health` one time after the other, a few times at least. Undefined: each was answered in time; else how not. */
  health(from: string, until?: Promise<unknown>): Promise<string | undefined>;
}

interface StartedPage extends Opened<PageFace>, AsyncDisposable {}

/** A page that is started anew where an input has harmed it. */
export async function startRenewedPage(): Promise<AsyncDisposable & { current(): Opened<PageFace> }> {
  const folder = await mkdtemp(join(tmpdir(), 'vessel-export-hostile-page-'));
  await writeLake(folder);
  let started = await startPage(folder);
  const recover = async () => {
    await started[Symbol.asyncDispose]();
    started = await startPage(folder);
  };
  return {
    current: () => ({ face: started.face, target: { ...started.target, recover } }),
    async [Symbol.asyncDispose]() {
      await started[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A day whose object is large, and a hole: the page looks at no byte of it. */
async function writeLake(folder: string): Promise<void> {
  const store = createLocalStore(join(folder, 'lake'));
  await writeReceipt(store, makeReceipt(DAY));
  await store.put(objectKey(DAY), new Uint8Array(1));
  await truncate(join(folder, 'lake', objectKey(DAY)), OBJECT_BYTES);
  await mkdir(join(folder, 'jobs'));
  const job = { dataset: 'measurements', vessels: [DAY.vessel], select: ['flat/{vessel}/*'] };
  await writeFile(join(folder, 'jobs/measurements.yaml'), JSON.stringify(job));
}

async function startPage(folder: string): Promise<StartedPage> {
  const child = spawn(process.execPath, [BIN, 'web', '--host', '127.0.0.1', '--port', '0'], {
    env: {
      ...{ PATH: process.env.PATH, LOG_LEVEL: 'info' },
      ...{ LAKE_URL: pathToFileURL(join(folder, 'lake')).href, JOBS_DIR: join(folder, 'jobs') },
      ...{ WEB_READ_PASSWORD: READ_PASSWORD, WEB_ACT_PASSWORD: ACT_PASSWORD },
      // Of these nobody comes: all who send their headers are strangers.
      ...{ TRUSTED_PROXY: '192.0.2.1', WEB_USER_HEADER: USER_HEADER },
      ...{ PUBLIC_URL: 'http://localhost', WEB_OIDC_ISSUER: 'http://127.0.0.1:1' },
      ...{ WEB_OIDC_CLIENT_ID: 'page', WEB_OIDC_CLIENT_SECRET: 'a secret of the page' },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    log = (log + more).slice(-4 * 1024 * 1024);
  });
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error(`the page did not start: ${log}`))),
  ])) as [Buffer];
  const measured = measure(child);
  // Whatever ends this process, the page is not left behind.
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  try {
    return await faceOf(measured, Number(new URL(line.toString('utf8').trim()).port), () => log);
  } catch (error) {
    await measured.end(0);
    throw error;
  }
}

async function faceOf(measured: Measured, port: number, log: () => string): Promise<StartedPage> {
  let addresses = 0;
  const newAddress = () => {
    addresses++;
    return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`;
  };
  const bytesOf = ({ method = 'GET', path, headers = [], body }: PageAsked): Buffer => {
    const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
    const head = [
      `${method} ${path} HTTP/1.1`,
      'host: localhost',
      'connection: close',
      ...length,
      ...headers,
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`);
  };
  const ask = async (asked: PageAsked): Promise<RawAnswer> => {
    const [answer] = parseAnswers(
      await exchangeBytes({ port, from: asked.from ?? newAddress(), bytes: bytesOf(asked) }),
    );
    return answer ?? { status: 0, headers: {}, body: Buffer.alloc(0), isWhole: false };
  };
  const starved = () => starvedMs(measured.child.pid!) + starvedMs(process.pid);
  let slowestMs = 0;
  const healthMs = async (from: string): Promise<number> => {
    const [sinceMs, starvedBefore] = [performance.now(), starved()];
    const { status } = await ask({ path: '/health', from });
    if (status !== 200) return Number.POSITIVE_INFINITY;
    const tookMs = performance.now() - sinceMs;
    slowestMs = Math.max(slowestMs, tookMs);
    return tookMs - (starved() - starvedBefore);
  };
  const slowest = async (from: string, until?: Promise<unknown>) => {
    let isOver = until === undefined;
    const over = () => {
      isOver = true;
    };
    until?.then(over, over);
    const times: number[] = [];
    while (times.length < 5 || !isOver) times.push(await healthMs(from));
    return Math.max(...times);
  };
  const face: PageFace = {
    ...{ process: measured, port, bytesOf, ask, newAddress, log, cookie: '' },
    async health(from, until) {
      const took = await slowest(from, until);
      if (took <= HEALTH_MS) return undefined;
      return took === Number.POSITIVE_INFINITY
        ? '/health did not answer'
        : `/health took ${Math.round(took)} ms`;
    },
  };
  const cookie = await webSignIn(`http://127.0.0.1:${port}`, READ_PASSWORD);
  const signedIn = { ...face, cookie };
  const target: Target = {
    begin() {
      measured.forgetPeak();
      slowestMs = 0;
    },
    ...{ peakBytes: measured.peakBytes, slowestMs: () => slowestMs },
    cpuMs: measured.cpuMs,
    recover: async () => {},
    async ailment() {
      if (!measured.isAlive()) return `the page has ended: ${log().slice(-300)}`;
      const peak = measured.peakBytes();
      if (peak > MAX_PAGE_BYTES) return `the page took ${Math.round(peak / 1024 / 1024)} MB`;
      const honest = { path: '/api/about', headers: [`cookie: ${cookie}`] };
      const { status } = await ask(honest);
      if (status !== 200) return `an honest request afterwards got status ${status}`;
      return [READ_PASSWORD, ACT_PASSWORD, cookie].some((secret) => log().includes(secret))
        ? 'the log shows a secret'
        : undefined;
    },
  };
  return { face: signedIn, target, [Symbol.asyncDispose]: () => measured.end() };
}

export const ACT_LINES = Object.entries(ACT_HEADERS).map(([name, value]) => `${name}: ${value}`);

export function signIn(
  face: Pick<PageFace, 'ask'>,
  name: string,
  password: string,
  more: Partial<PageAsked> = {},
): Promise<RawAnswer> {
  const { headers = [], ...rest } = more;
  const body = JSON.stringify({ name, password });
  return face.ask({
    method: 'POST',
    path: '/api/session',
    body,
    headers: [...ACT_LINES, ...headers],
    ...rest,
  });
}
