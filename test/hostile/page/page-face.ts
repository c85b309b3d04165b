/** `vessel-export web` as a process of its own, and hostile clients that come from addresses of their own. */
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { objectKey } from '../../../src/lake/keys.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import { makeReceipt, writeReceipt } from '../../helpers/ledger.ts';
import { ACT_HEADERS, signIn as webSignIn } from '../../helpers/web.ts';
import type { Opened, Target } from '../input.ts';
import type { Measured } from '../measured-process.ts';
import { startCommand, starvedMs } from '../measured-process.ts';
import type { RawAnswer } from '../raw-http.ts';
import { exchangeOne, loopbackAddresses, requestBytes } from '../raw-http.ts';

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

/** A day whose object is large, and a hole: the page looks at no byte of it. */
export async function writePageLake(folder: string): Promise<void> {
  const store = createLocalStore(join(folder, 'lake'));
  await writeReceipt(store, makeReceipt(DAY));
  await store.put(objectKey(DAY), new Uint8Array(1));
  await truncate(join(folder, 'lake', objectKey(DAY)), OBJECT_BYTES);
  await mkdir(join(folder, 'jobs'));
  const job = { dataset: 'measurements', vessels: [DAY.vessel], select: ['flat/{vessel}/*'] };
  await writeFile(join(folder, 'jobs/measurements.yaml'), JSON.stringify(job));
}

export async function startPage(folder: string): Promise<Opened<PageFace> & AsyncDisposable> {
  const env = {
    ...{ LOG_LEVEL: 'info', JOBS_DIR: join(folder, 'jobs') },
    LAKE_URL: pathToFileURL(join(folder, 'lake')).href,
    ...{ WEB_READ_PASSWORD: READ_PASSWORD, WEB_ACT_PASSWORD: ACT_PASSWORD },
    // Of these nobody comes: all who send their headers are strangers.
    ...{ TRUSTED_PROXY: '192.0.2.1', WEB_USER_HEADER: USER_HEADER },
    ...{ PUBLIC_URL: 'http://localhost', WEB_OIDC_ISSUER: 'http://127.0.0.1:1' },
    ...{ WEB_OIDC_CLIENT_ID: 'page', WEB_OIDC_CLIENT_SECRET: 'a secret of the page' },
  };
  const open = (process: Measured, said: string, log: () => string) =>
    faceOf(process, Number(new URL(said).port), log);
  return await startCommand(['web', '--host', '127.0.0.1', '--port', '0'], env, open);
}

async function faceOf(
  measured: Measured,
  port: number,
  log: () => string,
): Promise<Opened<PageFace> & AsyncDisposable> {
  const newAddress = loopbackAddresses();
  const bytesOf = ({ method = 'GET', path, headers = [], body }: PageAsked) =>
    requestBytes(`${method} ${path}`, ['host: localhost', ...headers], body);
  const ask = (asked: PageAsked) =>
    exchangeOne({ port, from: asked.from ?? newAddress(), bytes: bytesOf(asked) });
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
  const cookie = await webSignIn(`http://127.0.0.1:${port}`, READ_PASSWORD);
  const face: PageFace = {
    ...{ process: measured, port, bytesOf, ask, newAddress, log, cookie },
    async health(from, until) {
      const took = await slowest(from, until);
      if (took <= HEALTH_MS) return undefined;
      return took === Number.POSITIVE_INFINITY
        ? '/health did not answer'
        : `/health took ${Math.round(took)} ms`;
    },
  };
  const target: Target = {
    begin() {
      measured.forgetPeak();
      slowestMs = 0;
    },
    ...{ peakBytes: measured.peakBytes, slowestMs: () => slowestMs, cpuMs: measured.cpuMs },
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
  return { face, target, [Symbol.asyncDispose]: () => measured.end() };
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
