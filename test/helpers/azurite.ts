/** Azurite, Microsoft's emulator of Azure Blob Storage (`bash .ci/install-azurite`): one for the file that asks for it. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import type { BucketServer } from './bucket-server.ts';

/** Those of every Azurite. */
export const ACCOUNT = 'devstoreaccount1';
export const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export type Azurite = Awaited<ReturnType<typeof startAzurite>>;

/** The version that `.ci/install-azurite` installs, and where. */
function installedFolder(): string {
  const script = readFileSync(join(import.meta.dirname, '../../.ci/install-azurite'), 'utf8');
  const version = /^version=(\S+)$/m.exec(script)?.[1];
  const { AZURITE_DIR, XDG_CACHE_HOME } = process.env;
  const cache = XDG_CACHE_HOME ?? join(homedir(), '.cache');
  return AZURITE_DIR ?? join(cache, 'vessel-export', `azurite-${version}`);
}

/**
 * How to start one, or undefined where it is not installed: said loudly, and where `CI` is set an error. Call it at the
 * top of a test file and pass the answer to `describe.skipIf`.
 */
export function azuriteForTests(): (() => Promise<Azurite>) | undefined {
  const folder = installedFolder();
  if (existsSync(join(folder, 'installed'))) return () => startAzurite(folder);
  const reason = `no Azurite in ${folder} (bash .ci/install-azurite)`;
  if (process.env.CI) throw new Error(`the tests of Azure must run here (CI is set): ${reason}`);
  process.stderr.write(`\n*** THE TESTS OF AZURE WERE NOT RUN: ${reason} ***\n\n`);
  return undefined;
}

async function startAzurite(folder: string) {
  const script = join(folder, 'node_modules/azurite/dist/src/blob/main.js');
  // Newer versions of the API than it knows are those of the SDK.
  const words = [
    '--blobPort',
    '0',
    '--inMemoryPersistence',
    '--skipApiVersionCheck',
    '--disableTelemetry',
    '--silent',
  ];
  const child = spawn(process.execPath, [script, ...words], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  let endpoint: string | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    endpoint = /listens on (http:\S+)/.exec(line)?.[1];
    if (endpoint !== undefined) break;
  }
  child.stdout.resume();
  if (endpoint === undefined) throw new Error('Azurite has ended before it listened');
  const url = `${endpoint}/${ACCOUNT}`;
  /** It goes with the server. */
  async function newContainer(): Promise<string> {
    const container = `lake-${randomBytes(6).toString('hex')}`;
    await containerOf(url, container).create();
    return container;
  }
  const buckets: BucketServer = {
    origin: endpoint,
    newBucket: async () => ({ bucket: await newContainer(), drop: async () => {} }),
    urlOf: (container) => `az://${container}/lake`,
    envAt: (origin) => azureEnv(`${origin}/${ACCOUNT}`),
  };
  return {
    ...buckets,
    endpoint: url,
    newContainer,
    async stop(): Promise<void> {
      process.removeListener('exit', end);
      const ended = once(child, 'close');
      end();
      await ended;
    },
  };
}

/** A container as Azure's own client has it. */
export function containerOf(endpoint: string, container: string): ContainerClient {
  return new ContainerClient(`${endpoint}/${container}`, new StorageSharedKeyCredential(ACCOUNT, KEY));
}

/** The settings that open it, for a command. */
export function azureEnv(endpoint: string): Record<string, string> {
  return {
    ...{ AZURE_STORAGE_ACCOUNT: ACCOUNT, AZURE_STORAGE_KEY: KEY, AZURE_STORAGE_ENDPOINT: endpoint },
  };
}
