/**
 * The query service with a made-up fleet, in a process of its own: `made-up-server.ts VESSELS READINGS_PER_DAY
 * LATENCY_MS`. Prints one JSON line as `vessel-export service` does, and ends when its stdin does.
 */
import { systemClock } from '../../src/core/model/index.ts';
import { startService } from '../../src/service/service.ts';

const [vessels = 1, readingsPerDay = 5_000, latencyMs = 0] = process.argv.slice(2).map(Number);
const service = await startService({
  host: '127.0.0.1',
  port: 0,
  tenant: 'bench',
  data: { seed: 1, vessels, readingsPerDay },
  latencyMs,
  tokenTtlSeconds: 3_600,
  clock: systemClock,
});
const { baseUrl, authUrl, clientId, clientSecret } = service;
process.stdout.write(`${JSON.stringify({ baseUrl, authUrl, clientId, clientSecret })}\n`);
process.stdin.on('end', () => process.exit()).resume();
