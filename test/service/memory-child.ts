/** A service as `vessel-export service` runs it, in a process of its own that says what it holds in memory. */
import { systemClock } from '../../src/core/model/index.ts';
import { startService } from '../../src/service/service.ts';

const service = await startService({
  host: '127.0.0.1',
  port: 0,
  tenant: 'test',
  data: { seed: 7, vessels: 1, readingsPerDay: 5_000 },
  tokenTtlSeconds: 3_600,
  clock: systemClock,
});
process.on('message', () => {
  for (let i = 0; i < 3; i++) globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  process.send!({ heldBytes: heapUsed + external });
});
process.once('disconnect', () => process.exit());
const { baseUrl, authUrl, clientId, clientSecret } = service;
process.send!({ baseUrl, authUrl, clientId, clientSecret });
