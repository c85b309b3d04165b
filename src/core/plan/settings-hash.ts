import { createHash } from 'node:crypto';
import type { ApiVersion, Job } from '../model/index.ts';

/** Hash of the settings that decide what a published day holds. Another hash makes it stale. */
export function settingsHash(job: Job, apiVersion: ApiVersion): string {
  const content = {
    dataset: job.dataset,
    select: job.select,
    window: job.window ?? null,
    aggregations: job.aggregations ?? null,
    transport: job.transport,
    // The beta alias answers like the version it became.
    apiVersion: apiVersion === '2026-01-01-beta' ? '2026-09-10' : apiVersion,
    // What hashes were first made of: a later format version makes no day stale, for its rows are the same.
    formatVersion: 1,
  };
  return shortHash(content);
}

/** Hash of what a job selects: days of equal ones can be compared by their series, whatever else has changed. */
export function selectHash({ select }: Pick<Job, 'select'>): string {
  return shortHash(select);
}

function shortHash(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
}
