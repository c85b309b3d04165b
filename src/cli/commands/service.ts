/** `service`: serve the query API until interrupted. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, messageOf } from '../../core/errors.ts';
import { JOB_NAME, systemClock, VESSEL_ID, type VesselDay } from '../../core/model/index.ts';
import { readLayout } from '../../lake/lake-file.ts';
import { readTableFiles } from '../../lake/publish/table-files.ts';
import { createLog } from '../../runtime/log.ts';
import type { ServiceClient } from '../../service/http/credentials.ts';
import { startService } from '../../service/service.ts';
import { createLocalStore } from '../../store/local/local.ts';
import { writeJson, writeLines } from '../terminal/screen.ts';
import { type CommandContext, commandLog, EXIT_OK, untilStopped } from './command.ts';

interface ServiceCommandOptions {
  readonly host: string;
  readonly port: number;
  readonly tenant: string;
  readonly seed: number;
  readonly data?: string;
  readonly replay?: string;
  readonly clients?: string;
  readonly vessels: number;
  readonly readingsPerDay: number;
  readonly rate?: number;
  readonly maxConcurrency?: number;
  readonly latency?: number;
  readonly tokenTtl: number;
  readonly maxConnections?: number;
  readonly maxConnectionsPerAddress?: number;
  readonly accessLog?: boolean;
}

/** Prints one JSON line once it listens, its only output on stdout; the secret is in it only where it was made up. Ends on the first signal. */
export async function serviceCommand(context: CommandContext, options: ServiceCommandOptions) {
  const { host, port, tenant, clients, rate, maxConcurrency, latency } = options;
  const { maxConnections, maxConnectionsPerAddress } = options;
  const write = (line: string) => writeLines(context.stderr, line);
  const log = commandLog(context, 'info');
  // This comes before the signal is read: until then a signal ends the process, even while a pipe blocks it here.
  const known = clients !== undefined && { clients: readClients(clients) };
  const { signal } = context;
  const service = await startService({
    ...{ host, port, tenant, data: await dataOf(options), tokenTtlSeconds: options.tokenTtl },
    ...{ clock: systemClock, signal, log, ...known },
    ...(rate !== undefined && { ratePerMinute: rate }),
    ...(maxConcurrency !== undefined && { maxConcurrency }),
    ...(latency !== undefined && { latencyMs: latency }),
    // Lines of JSON, also on a terminal.
    ...(options.accessLog && { accessLog: createLog({ level: 'info', readable: false, write }) }),
    connectionLimits: {
      ...(maxConnections !== undefined && { maxConnections }),
      ...(maxConnectionsPerAddress !== undefined && { maxConnectionsPerAddress }),
    },
  });
  const { baseUrl, authUrl, clientId, clientSecret } = service;
  const secret = clients === undefined && { clientSecret };
  writeJson(context.stdout, { baseUrl, authUrl, clientId, ...secret });
  const lateText = 'some work did not stop; the process ends without it';
  await untilStopped(signal, log, () => service.close(), lateText);
  return EXIT_OK;
}

/** Throws ConfigError if there are two sources of data. */
async function dataOf({ data, replay, seed, vessels, readingsPerDay }: ServiceCommandOptions) {
  if (data !== undefined && replay !== undefined)
    throw new ConfigError('service-options', 'got both --data and --replay, expected one of them');
  if (data !== undefined) return await lakeData(resolve(data));
  if (replay !== undefined) return { replayFile: resolve(replay) };
  return { seed, vessels, readingsPerDay };
}

/** The files of a plain lake, or those that the tables of a delta lake have. */
async function lakeData(dataDir: string) {
  const store = createLocalStore(dataDir);
  if ((await readLayout(store)) === 'plain') return { dataDir };
  const files: (VesselDay & { readonly path: string })[] = [];
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    if (!entry.isDirectory() || !JOB_NAME.test(entry.name)) continue;
    for (const { day, key } of await readTableFiles(store, entry.name))
      files.push({ ...day, path: join(dataDir, key) });
  }
  return { dataDir, files };
}

const VESSELS_RULE = 'expected "*" or a list such as ["IMO9321483"]';

const client = z.strictObject(
  {
    clientId: z.string('expected text').min(1, 'is empty'),
    clientSecret: z.string('expected text').min(8, 'is too short, expected at least 8 characters'),
    vessels: z.union([z.literal('*'), z.array(z.string().regex(VESSEL_ID, VESSELS_RULE))], VESSELS_RULE),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? 'has keys that are not known' : 'expected an object',
  },
);
const clientsFile = z.array(client, 'expected a list').min(1, 'the list is empty');

/** The clients of a JSON file. Values are not shown in messages: they are secrets. */
function readClients(path: string): ServiceClient[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'not valid JSON' : messageOf(error);
    throw new ConfigError('clients-file', `--clients: cannot read '${path}': ${why}`);
  }
  const parsed = clientsFile.safeParse(json);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path: [at, field], message }) =>
    [typeof at === 'number' ? `client ${at + 1}` : '', field, message].filter(Boolean).join(' '),
  );
  throw new ConfigError(
    'clients-file',
    `--clients: '${path}': ${places.join('; ')}; expected [{"clientId": "…", "clientSecret": "at least 8 characters", "vessels": "*" or ["IMO9321483"]}]`,
  );
}
