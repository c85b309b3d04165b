/** Places where an exporter should send no secret, and a Redis that answers and takes no writes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { canStartOwnRedis, startOwnRedis } from '../../helpers/redis.ts';
import type { Category, HostileInput } from '../input.ts';
import { shown } from '../input.ts';
import type { ExporterFace } from './exporter-face.ts';
import { RUN_ARGS } from './exporter-face.ts';
import { faultOfEnd } from './held.ts';

const SECRET = 'zqx-never-in-clear-zqx';
const OTLP = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** Settings that send a secret to `host`, without TLS unless it is to be unchecked. */
const SENT: Readonly<Record<string, (host: string) => Record<string, string>>> = {
  'the service': (host) => ({ QUERY_BASE_URL: `http://${host}/fleet` }),
  'the token endpoint': (host) => ({ QUERY_AUTH_URL: `http://${host}/auth` }),
  'a webhook': (host) => ({ NOTIFY_URL: `http://${host}/hooks/${SECRET}` }),
  'Redis, in its URL': (host) => ({ REDIS_URL: `redis://:${SECRET}@${host}` }),
  'Redis, beside it': (host) => ({ REDIS_URL: `redis://${host}`, REDIS_PASSWORD: SECRET }),
  'a collector': (host) => ({ [OTLP]: `http://${host}`, OTEL_EXPORTER_OTLP_HEADERS: `key=${SECRET}` }),
  'a collector, by its own headers': (host) => ({
    [OTLP]: `http://${host}`,
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: `key=${SECRET}`,
  }),
  S3: (host) => ({
    ...{ LAKE_URL: 's3://bucket/lake', AWS_ENDPOINT_URL_S3: `http://${host}`, AWS_REGION: 'us-east-1' },
    ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: SECRET },
  }),
  'TLS that is not checked': (host) => ({
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NOTIFY_URL: `https://${host}/hooks/${SECRET}`,
  }),
};
/** None is this machine by the rule, and the first two get there all the same. */
const HOSTS = ['0.0.0.0', 'localhost.', '[::ffff:0.0.0.0]', 'elsewhere.invalid'];
const COMMANDS = [RUN_ARGS, ['check'], ['notify', 'test']];

function inClear(what: string, host: string): HostileInput<ExporterFace> {
  return {
    name: `${what} at ${host}`,
    async send(face) {
      let came = 0;
      const trap = createServer((socket) => {
        came++;
        socket.destroy();
      });
      await once(trap.listen(0, '127.0.0.1'), 'listening');
      try {
        const env = SENT[what]!(`${host}:${(trap.address() as AddressInfo).port}`);
        await using sandbox = await face.sandbox();
        for (const args of COMMANDS) {
          const end = await face.run(sandbox, args, env);
          const all = end.stdout + end.stderr;
          const fault = await faultOfEnd(face, sandbox, end);
          if (fault !== undefined) return `${args[0]}: ${fault}`;
          if (end.code === 0 || !all.includes('QUERY_ALLOW_HTTP='))
            return `${args[0]} ends with ${end.code}: ${shown(all.slice(-300), 300)}`;
          if (all.includes(SECRET)) return `${args[0]} shows the secret`;
        }
        return came === 0 ? undefined : `${came} connections were made`;
      } finally {
        trap.close();
      }
    },
  };
}

export const IN_CLEAR: Category<ExporterFace> = {
  name: 'secrets in clear',
  inputs: Object.keys(SENT).flatMap((what) => HOSTS.map((host) => inClear(what, host))),
};

/** The codes by which /ready and `check` say that Redis refuses writes, and what makes it do so. */
const REFUSING = {
  'is full': ['redis-full', 'memory-full', 'CONFIG', 'SET', 'maxmemory', '1'],
  'is a replica': ['redis-read-only', 'redis-read-only', 'REPLICAOF', '127.0.0.1', '1'],
  'misses its replicas': [
    ...(['redis-too-few-replicas', 'redis-too-few-replicas'] as const),
    ...(['CONFIG', 'SET', 'min-replicas-to-write', '1'] as const),
  ],
} as const;
const BIN = resolve(import.meta.dirname, '../../../src/bin.js');

function refusing(what: keyof typeof REFUSING): HostileInput<ExporterFace> {
  return {
    name: what,
    async send(face) {
      if (!canStartOwnRedis()) return undefined;
      const [readyCode, code, command, ...args] = REFUSING[what];
      await using redis = await startOwnRedis();
      await using sandbox = await face.sandbox();
      const own = { REDIS_URL: redis.url, HTTP_PORT: '0' };
      const { clientId, clientSecret } = face.front.credentials;
      const worker = spawn(process.execPath, [BIN, 'worker'], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          ...{ PATH: process.env.PATH, QUERY_CLIENT_ID: clientId, QUERY_CLIENT_SECRET: clientSecret },
          QUERY_BASE_URL: `http://127.0.0.1:${face.front.port}/fleet`,
          QUERY_AUTH_URL: `http://127.0.0.1:${face.front.port}/auth`,
          ...{ LAKE_URL: pathToFileURL(sandbox.lake).href, JOBS_DIR: sandbox.jobs, TEMP_DIR: sandbox.temp },
          ...own,
        },
      });
      let said = '';
      worker.stderr.on('data', (chunk) => {
        said += chunk;
      });
      const ended = once(worker, 'exit');
      /** What /ready says once it has this status; asked until then. */
      const untilReady = async (status: number): Promise<string> => {
        for (;;) {
          if (worker.exitCode !== null) throw new Error(`the worker ended: ${shown(said.slice(-300), 300)}`);
          const [, url] = /"http":"([^"]+)"/.exec(said) ?? [];
          const answer = url === undefined ? undefined : await fetch(`${url}/ready`);
          const text = await answer?.text();
          if (answer?.status === status) return text!;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      };
      try {
        await untilReady(200);
        await redis.command(command, ...args);
        let reason = '';
        while (!reason.includes(`"${readyCode}"`)) reason = await untilReady(503);
        const lift = await face.run(sandbox, ['hold', 'lift'], own);
        const check = await face.run(sandbox, ['check', '--json'], own);
        // A full one may remove a key.
        if (lift.code !== 0 && !/takes no writes/.test(lift.stderr))
          return `hold lift ends with ${lift.code}: ${shown(lift.stderr)}`;
        if (check.code !== 1 || !check.stdout.includes(`"${code}"`))
          return `check ends with ${check.code} and does not name ${code}`;
        for (const end of [lift, check]) {
          const fault = await faultOfEnd(face, sandbox, end);
          if (fault !== undefined) return fault;
        }
        if (command === 'REPLICAOF') await redis.command('REPLICAOF', 'NO', 'ONE');
        else await redis.command('CONFIG', 'SET', args[1]!, '0');
        await untilReady(200);
        const lost = said.split('lost Redis').length - 1;
        if (lost > 1 || said.split('\n').length > 20) return `${said.split('\n').length} lines were logged`;
        return said.includes('internal') ? `it says ${shown(said.slice(-300), 300)}` : undefined;
      } finally {
        worker.kill('SIGTERM');
        await ended;
      }
    },
  };
}

export const REDIS_STATES: Category<ExporterFace> = {
  name: 'a Redis that takes no writes',
  inputs: (Object.keys(REFUSING) as (keyof typeof REFUSING)[]).map(refusing),
};
