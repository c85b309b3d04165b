/** Does the service take our credentials, and the lake an object? */
import { HttpStatusError } from '../errors.ts';
import type { ExportPorts } from '../export/ports.ts';
import { selectFor } from '../export/source.ts';
import type { Job } from '../model/index.ts';

/** Rejects with what a vessel-day would meet. Any answer but 401 shows that the credentials are accepted. */
export async function probeService(
  ports: Pick<ExportPorts, 'client'>,
  job: Job,
  signal: AbortSignal,
): Promise<void> {
  const expression =
    'discover' in job.vessels ? job.vessels.discover : selectFor(job, job.vessels[0] ?? '')[0]!;
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

/** Write a small object and remove it. Rejects with what a vessel-day would meet. */
export async function probeLake(ports: Pick<ExportPorts, 'store' | 'nonce'>): Promise<void> {
  const key = `_probes/${ports.nonce()}`;
  await ports.store.put(key, Buffer.from('{}\n'));
  await ports.store.remove(key);
}
