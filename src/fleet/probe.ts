/** Does the service take our credentials, and the lake an object? */
import { HttpStatusError } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import type { ExportPorts } from '../export/ports.ts';
import { expressionFor } from '../source/series.ts';
import { PROBE_PREFIX } from '../store/key.ts';

/** Rejects with what a vessel-day would meet. Any answer but 401 shows that the credentials are accepted. */
export async function probeService(
  ports: Pick<ExportPorts, 'client'>,
  job: Job,
  signal: AbortSignal,
): Promise<void> {
  const expression =
    'discover' in job.vessels ? job.vessels.discover : expressionFor(job.select[0]!, job.vessels[0] ?? '');
  try {
    await ports.client.exchange(
      () => ({ family: 'metadata', expressions: [expression], format: 'json' }),
      async (response) => {
        // The first bytes say enough; leaving the loop ends the body.
        for await (const _ of response.body) return;
      },
      { signal },
    );
  } catch (error) {
    if (!(error instanceof HttpStatusError) || error.status === 401) throw error;
  }
}

/** Look at what it says of itself, write a small object and remove it. Rejects with what a vessel-day would meet. */
export async function probeLake(
  ports: Pick<ExportPorts, 'store' | 'nonce' | 'layout'>,
  jobs: readonly Job[],
): Promise<void> {
  await ports.layout.settle();
  await ports.layout.checkSource(jobs.map(({ name }) => name));
  const key = `${PROBE_PREFIX}${ports.nonce()}`;
  await ports.store.put(key, Buffer.from('{}\n'));
  await ports.store.remove(key);
}
