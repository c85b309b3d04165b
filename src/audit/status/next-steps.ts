/** Advice on a vessel-day by the code of its note, for the page and docs/operating.md. JOB, VESSEL, DATE and NEXT-DATE stand for its own. */
import { addDays, type Note, type VesselDay } from '../../core/model/index.ts';

const RUN = 'vessel-export run JOB --from DATE --to NEXT-DATE --vessel VESSEL';

/** The first that has the code counts. */
export const NEXT_STEPS: readonly { readonly codes: readonly string[]; readonly next: string }[] = [
  {
    codes: ['would-shrink'],
    next: `Ask the operator of the service whether readings were removed on purpose. If so: '${RUN} --force --allow-shrink'. If the job's 'select' now covers fewer series on purpose: 'vessel-export accept JOB', once for all its days. If the readings come back, the next look-back or run clears this note. The published day stays until then.`,
  },
  {
    codes: ['fewer-series'],
    next: "Nothing, if the series come back: the day is retried automatically, and later published without them. If fewer series are right: 'vessel-export accept JOB VESSEL'. Check also whether the credentials can read fewer series than before.",
  },
  {
    codes: ['damaged-log'],
    next: "The log of the job’s table is damaged, or entries of it are lost; the message says where. Restore it from a version of the bucket or a backup. If there is none, 'vessel-export rebuild-log JOB' writes a new log from the receipts. Then the next firing retries the day.",
  },
  {
    codes: ['table-schema', 'unsupported-table'],
    next: 'Another writer has changed the log of the job’s table; the message says where. Undo the change, or export into another lake. Then run the day again.',
  },
  {
    codes: ['counts-disagree', 'repeated-result', 'windows-misaligned', 'statistics-value', 'answer-cut'],
    next: `The service's counts and its readings contradict each other. Wait until late data has arrived, then '${RUN}'. If the contradiction remains, send series, hour and both numbers of the message to the operator of the service.`,
  },
  {
    codes: [
      ...['bad-request', 'expression-invalid', 'expression-needs-post', 'no-expression', 'request-invalid'],
      ...['url-too-long', 'too-many-expressions', 'not-acceptable', 'unsupported-media-type'],
    ],
    next: "The service rejects the request as invalid, and will reject it again. Fix 'select', 'aggregations' or 'transport' in the job's file as the message says ('vessel-export check' tests it), then 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: ['not-found', 'nothing-found', 'no-series', 'no-vessels'],
    next: "Check the expressions of the job and QUERY_BASE_URL: 'vessel-export series VESSEL' lists what the service has. Mark an expression that some vessels lack as 'optional'. If the series come back, the next firing retries the day.",
  },
  {
    codes: [
      ...['credentials-refused', 'unauthorized', 'forbidden', 'token-invalid', 'token-expired'],
      ...['token-endpoint-wrong', 'certificate-refused', 'redirect-refused', 'wrong-api-version'],
    ],
    next: "Check the credentials and the address of the service: 'vessel-export check' names the setting. Nothing is lost; the queue continues automatically once they are accepted.",
  },
  {
    codes: [
      ...['server-error', 'gateway-timeout', 'connection-failed', 'service-unreachable', 'host-unknown'],
      ...['headers-timeout', 'idle-timeout', 'too-slow', 'token-late', 'body-broken', 'body-truncated'],
      ...['body-damaged', 'error-in-body', 'unexpected-status', 'rate-limited', 'no-answer'],
      'request-too-large',
    ],
    next: `The service failed or was unreachable. The next firing of the schedule retries the day. To retry now: '${RUN}'.`,
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
      ...[
        'bad-credentials',
        'bad-certificate',
        'clock-skew',
        'unsupported-store',
        'local-io',
        's3-conflict',
        'store-conflict',
      ],
      ...['file-too-large', 'key-conflict', 'lake-layout', 'lake-url', 'damaged-lake-file'],
      'unfit-store',
    ],
    next: `The lake could not be written. Fix what the message names ('vessel-export check' tests it). Then the next firing retries the day. To retry now: '${RUN}'.`,
  },
  {
    codes: ['other-source'],
    next: "The lake has this job's data from another service. Correct QUERY_BASE_URL or LAKE_URL of the process with this message. If the change is intended, for example because the service has moved: 'vessel-export accept JOB --source'.",
  },
  {
    codes: ['unknown-receipt-version'],
    next: 'A newer vessel-export has published the day. Use that version or a newer one, and leave the receipt as it is.',
  },
  {
    codes: ['damaged-receipt'],
    next: `The receipt of the day cannot be read. 'vessel-export verify JOB --from DATE --to NEXT-DATE' says what is expected. Restore it from a version of the bucket or a backup, or remove it and export the day again: '${RUN}'.`,
  },
  {
    codes: ['damaged-file', 'unreadable-object'],
    next: `A file of the lake cannot be read. 'vessel-export verify JOB --from DATE --to NEXT-DATE' names it and says what is expected. Restore it from a version of the bucket, or remove it and export the day again: '${RUN} --force'.`,
  },
  {
    codes: [
      ...['object-changed', 'upload-gone', 'part-mismatch', 'commit-contended', 'commit-unknown'],
      ...['complete-unknown', 'sync-failed', 'upload-not-adopted'],
    ],
    next: `Another attempt wrote at the same time, or the store did not report the outcome of a write. Nothing wrong is published: '${RUN}' checks again and continues.`,
  },
  {
    codes: ['running-elsewhere', 'fenced', 'lake-converting'],
    next: 'Nothing: another process works on the day or on the complete lake. This day is retried later.',
  },
  {
    codes: ['workers-died', 'out-of-memory'],
    next: "Worker processes ended during this day. Check in the machine's log whether they ran out of memory. If so, give them more memory or lower WORKER_CONCURRENCY. Then 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: ['too-many-series', 'too-many-vessels', 'page-too-large', 'json-text-too-large'],
    next: "The data exceed a limit of one vessel-day. Select less in the job, or split it into several jobs; then 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: [
      ...['malformed-json', 'bad-parquet', 'invalid-utf8', 'missing-field', 'bad-field', 'duplicate-key'],
      ...['bad-integer', 'bad-id', 'bad-timestamp', 'timestamp-order', 'record-too-long', 'malformed-imo'],
      ...['unexpected-plan', 'wrong-encoding', 'body-without-end'],
    ],
    next: "The response violates the contract; the message names record and position. Send the message to the operator of the service. Once the service is fixed: 'vessel-export backfill JOB --failed' with the dates.",
  },
  {
    codes: [
      ...['internal-error', 'encode-check-failed', 'encode-failed', 'encode-worker-died'],
      ...['footer-schema-mismatch', 'too-many-at-once', 'part-order', 'nonce-reused', 'bad-key'],
    ],
    next: 'This looks like a defect of vessel-export. The next firing retries the day. If it fails again, report it with the message and the log lines of this vesselDay.',
  },
];

/** For a code that is not listed. */
export const OTHER_STEPS: Readonly<Record<Note['state'], string>> = {
  failed: `Fix what the message names, then '${RUN}', or 'vessel-export backfill JOB --failed' with the dates.`,
  refused: `The published day stays. If the message describes an intended change: '${RUN} --force --allow-shrink'. Otherwise fix the source.`,
  waiting: 'Nothing: it is retried automatically.',
};

export function nextStep({ state, code }: Pick<Note, 'state' | 'code'>, day: VesselDay): string {
  const text = NEXT_STEPS.find(({ codes }) => codes.includes(code))?.next ?? OTHER_STEPS[state];
  const names = { JOB: day.job, VESSEL: day.vessel, 'NEXT-DATE': addDays(day.date, 1), DATE: day.date };
  return text.replace(/\b(?:JOB|VESSEL|NEXT-DATE|DATE)\b/g, (name) => names[name as keyof typeof names]);
}
