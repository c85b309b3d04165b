/** Advice on a vessel-day by the code of its note, for the page and docs/operating.md. JOB, VESSEL, DATE and NEXT-DATE stand for its own. */
import { addDays, type Note, type VesselDay } from '../../core/model/index.ts';

const RUN = 'vessel-export run JOB --from DATE --to NEXT-DATE --vessel VESSEL';

/** The first that has the code counts. */
export const NEXT_STEPS: readonly { readonly codes: readonly string[]; readonly next: string }[] = [
  {
    codes: ['would-shrink'],
    next: `Ask the operator of the service whether readings were removed on purpose. If so: '${RUN} --force --allow-shrink'. If the job's 'select' has changed and is to mean less: 'vessel-export accept JOB', once for all its days. If they come back, the next look-back or run finds the day as it was. What is published stays until then.`,
  },
  {
    codes: ['fewer-series'],
    next: "Nothing, if the series come back: the day is tried again by itself, and published without them later. If there are to be fewer series: 'vessel-export accept JOB VESSEL'. Check too whether the credentials may read less than before.",
  },
  {
    codes: ['damaged-log'],
    next: "The log of the job’s table is damaged, or entries of it are lost; the message says where. Restore it from a version of the bucket or a backup; where there is none, 'vessel-export rebuild-log JOB' makes a new one of what the receipts say. Then the next firing tries the day again.",
  },
  {
    codes: ['table-schema', 'unsupported-table'],
    next: 'Look at the log of the job’s table, which another writer has changed; the message says where. Undo that, or export into another lake; then run the day again.',
  },
  {
    codes: ['counts-disagree', 'repeated-result', 'windows-misaligned', 'statistics-value', 'answer-cut'],
    next: `The service's counts and its readings contradict each other. Wait until late data has arrived, then '${RUN}'. If it stays like this, send series, hour and both numbers of the message to the operator of the service.`,
  },
  {
    codes: [
      ...['bad-request', 'expression-invalid', 'expression-needs-post', 'no-expression', 'request-invalid'],
      ...['url-too-long', 'too-many-expressions', 'not-acceptable', 'unsupported-media-type'],
    ],
    next: "The service calls the question wrong, and will tomorrow. Fix 'select', 'aggregations' or 'transport' in the job's file as the message says ('vessel-export check' tries it), then 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: ['not-found', 'nothing-found', 'no-series', 'no-vessels'],
    next: "Check the expressions of the job and QUERY_BASE_URL: 'vessel-export series VESSEL' lists what the service has. An expression that some vessels lack can be named under 'optional'. If a sensor was out of reach, the next firing tries again.",
  },
  {
    codes: [
      ...['credentials-refused', 'unauthorized', 'forbidden', 'token-invalid', 'token-expired'],
      ...['token-endpoint-wrong', 'certificate-refused', 'redirect-refused', 'wrong-api-version'],
    ],
    next: "Check the credentials and the address of the service: 'vessel-export check' says which setting. Nothing is lost; the queue goes on by itself once they are accepted.",
  },
  {
    codes: [
      ...['server-error', 'gateway-timeout', 'connection-failed', 'service-unreachable', 'host-unknown'],
      ...['headers-timeout', 'idle-timeout', 'too-slow', 'token-late', 'body-broken', 'body-truncated'],
      ...['body-damaged', 'error-in-body', 'unexpected-status', 'rate-limited', 'no-answer'],
      'request-too-large',
    ],
    next: `The service was in trouble or out of reach. The next firing of the schedule tries the day again; at once: '${RUN}'.`,
  },
  {
    codes: [
      ...[
        'disk-full',
        'read-only',
        'no-permission',
        'no-hard-links',
        'no-bucket',
        'no-region',
        'wrong-region',
      ],
      ...['bad-credentials', 'bad-certificate', 'clock-skew', 'unsupported-store', 'local-io', 's3-conflict'],
      ...['file-too-large', 'key-conflict', 'lake-layout', 'lake-url', 'damaged-lake-file'],
      'unfit-store',
    ],
    next: `The lake could not be written. Fix what the message names ('vessel-export check' tries it); the next firing tries the day again, at once: '${RUN}'.`,
  },
  {
    codes: ['other-source'],
    next: "The lake has this job from another service. Correct QUERY_BASE_URL or LAKE_URL of the process that says so; where it is meant, as when the service has moved, 'vessel-export accept JOB --source'.",
  },
  {
    codes: ['unknown-receipt-version'],
    next: 'A newer vessel-export has published the day. Use that one, or a newer one, and leave the receipt as it is.',
  },
  {
    codes: ['damaged-receipt'],
    next: `The receipt of the day cannot be read. 'vessel-export verify JOB --from DATE --to NEXT-DATE' says what it should be. Restore it from a version of the bucket or a backup, or remove it and export the day again: '${RUN}'.`,
  },
  {
    codes: ['damaged-file', 'unreadable-object'],
    next: `A file of the lake cannot be read. 'vessel-export verify JOB --from DATE --to NEXT-DATE' names it and says what it should be. Put back a version of the bucket, or remove it and export the day again: '${RUN} --force'.`,
  },
  {
    codes: [
      ...['object-changed', 'upload-gone', 'part-mismatch', 'commit-contended', 'commit-unknown'],
      ...['complete-unknown', 'sync-failed', 'upload-not-adopted'],
    ],
    next: `Another attempt came between, or the store did not say what became of a write. Nothing wrong is published: '${RUN}' looks again and goes on.`,
  },
  {
    codes: ['running-elsewhere', 'fenced', 'lake-converting'],
    next: 'Nothing: another process has the day, or the whole lake, in its hands, and this one comes back later.',
  },
  {
    codes: ['workers-died', 'out-of-memory'],
    next: "Worker processes ended during this day. Look whether they ran out of memory (the log of the machine), give them more or lower WORKER_CONCURRENCY, then 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: ['too-many-series', 'too-many-vessels', 'page-too-large', 'json-text-too-large'],
    next: "There is more than one vessel-day may hold. Select less in the job, or split it into several jobs; then 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: [
      ...['malformed-json', 'bad-parquet', 'invalid-utf8', 'missing-field', 'bad-field', 'duplicate-key'],
      ...['bad-integer', 'bad-id', 'bad-timestamp', 'timestamp-order', 'record-too-long', 'malformed-imo'],
      ...['unexpected-plan', 'wrong-encoding', 'body-without-end'],
    ],
    next: "The answer breaks the contract: the message names record and position. Send it to the operator of the service. Once it is fixed: 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: [
      ...['internal-error', 'encode-check-failed', 'encode-failed', 'encode-worker-died'],
      ...['footer-schema-mismatch', 'too-many-at-once', 'part-order', 'nonce-reused', 'bad-key'],
    ],
    next: 'This looks like a defect of vessel-export. The next firing tries the day again; if it fails again, report it with the message and the lines of the log that have this vesselDay.',
  },
];

/** For a code that is not listed. */
export const OTHER_STEPS: Readonly<Record<Note['state'], string>> = {
  failed: `Fix what the message names, then '${RUN}', or 'vessel-export backfill JOB --failed' with the dates.`,
  refused: `What is published stays. If the message is about something that is meant, '${RUN} --force --allow-shrink'; else fix the source.`,
  waiting: 'Nothing: it is tried again by itself.',
};

/** What to do about a note, with the names of its vessel-day. */
export function nextStep({ state, code }: Pick<Note, 'state' | 'code'>, day: VesselDay): string {
  const text = NEXT_STEPS.find(({ codes }) => codes.includes(code))?.next ?? OTHER_STEPS[state];
  const names = { JOB: day.job, VESSEL: day.vessel, 'NEXT-DATE': addDays(day.date, 1), DATE: day.date };
  return text.replace(/\b(?:JOB|VESSEL|NEXT-DATE|DATE)\b/g, (name) => names[name as keyof typeof names]);
}
