/** Discovers the vessels of a service in a process of its own; says how many, and what it took. */
import { type ApiVersion, systemClock } from '../../src/core/model/index.ts';
import { createQueryClient } from '../../src/source/fetch/client.ts';
import { createConcurrencyLimit } from '../../src/source/fetch/concurrency-limit.ts';
import { createRequestStats } from '../../src/source/fetch/exchange.ts';
import { createRateLimit } from '../../src/source/fetch/rate-limit.ts';
import { discoverVessels } from '../../src/source/metadata.ts';

const [origin, apiVersion] = process.argv.slice(2) as [string, ApiVersion];
const clock = systemClock;
const rateLimit = createRateLimit({ clock });
const client = createQueryClient({
  ...{ baseUrl: `${origin}/tenant`, authUrl: `${origin}/auth`, clientId: 'a', clientSecret: 'a-secret' },
  ...{ apiVersion, clock, random: Math.random, rateLimit },
  concurrencyLimit: createConcurrencyLimit({ limit: 1, rateLimit, clock }),
});
const startedMs = performance.now();
const { vessels } = await discoverVessels(
  { client },
  'flat/*/*',
  new AbortController().signal,
  createRequestStats(),
);
const cpu = process.cpuUsage();
process.stdout.write(
  JSON.stringify({
    vessels: vessels.length,
    wallMs: Math.round(performance.now() - startedMs),
    cpuMs: Math.round((cpu.user + cpu.system) / 1_000),
    maxRssBytes: process.resourceUsage().maxRSS * 1024,
  }),
);
await client.close();
