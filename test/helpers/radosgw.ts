import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { refusingPort } from './ports.ts';

/** Where an S3 server is and who may use it. */
export interface S3Address {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** A key that objects can be encrypted with; absent where that is not known. */
  readonly kmsKeyId?: string;
}

const SCRIPT = fileURLToPath(new URL('radosgw.sh', import.meta.url));
const PROGRAMS = ['radosgw', 'radosgw-admin', 'ceph-mon', 'ceph-osd', 'ceph', 'monmaptool'];
/** Another process can take a port between our look and the server's start. */
const START_ATTEMPTS = 3;

/** The programs that `startRadosgw` needs and that are not on PATH. */
export function missingRadosgwPrograms(): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return PROGRAMS.filter((program) => !folders.some((folder) => isExecutable(join(folder, program))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export type Radosgw = Awaited<ReturnType<typeof startAt>>;

/** Start a one-node Ceph, which ends with this process however that ends, with its files in `dir` (must not exist; a short path). Takes about 2 s. */
export async function startRadosgw(dir: string) {
  for (let attempt = 1; ; attempt++) {
    const [s3Port, monPort] = [await refusingPort(), await refusingPort()];
    const address = {
      endpoint: `http://127.0.0.1:${s3Port}`,
      region: 'us-east-1',
      kmsKeyId: 'test-key',
      ...newKeys(),
    };
    try {
      return await startAt(address, dir, [String(s3Port), String(monPort)]);
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

function newKeys(): Pick<S3Address, 'accessKeyId' | 'secretAccessKey'> {
  return {
    accessKeyId: `TEST${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(20).toString('hex'),
  };
}

async function startAt(address: S3Address, dir: string, ports: string[]) {
  const child = spawn('bash', [SCRIPT, dir, ...ports], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      AWS_ACCESS_KEY_ID: address.accessKeyId,
      AWS_SECRET_ACCESS_KEY: address.secretAccessKey,
      KMS_KEY_ID: address.kmsKeyId,
    },
  });
  const exited = once(child, 'exit');
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await expectAnswer(answers, 'ready');
  const order = async (line: string) => {
    child.stdin.write(`${line}\n`);
    await expectAnswer(answers, 'ok');
  };
  return {
    address,
    endpoint: address.endpoint,
    /** SIGKILL the gateway: connections break off, the objects stay. */
    killGateway: () => order('kill-gateway'),
    /** The same address for another user, who may do nothing yet. */
    newUser: async (name: string): Promise<S3Address> => {
      const keys = newKeys();
      await order(`create-user ${name} ${keys.accessKeyId} ${keys.secretAccessKey}`);
      return { ...address, ...keys };
    },
    /** At the same address. */
    startGateway: () => order('start-gateway'),
    stop: async () => {
      if (isRunning(child)) child.stdin.end();
      await exited;
    },
  };
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function expectAnswer(answers: AsyncIterator<string>, expected: string): Promise<void> {
  const { value, done } = await answers.next();
  if (done || value !== expected)
    throw new Error(`radosgw.sh: expected '${expected}', got ${done ? 'its end' : value}`);
}
