/** What verify can find, by name. A finding is a difference between what the lake says and what it holds. */

import { cleanMessage, type Dataset, type VesselDay, type Warning } from '../../core/model/index.ts';

/** Advice about what may claim more than there is: the never-shrink guard believes it. */
const FORCE_THEN_SHRINK =
  'run the day again with --force; if that is refused (would-shrink), check whether the source has lost readings, and add --allow-shrink';

/**
 * Every name of a finding, what it means and what to do about it. The names are stable: scripts match them, and
 * docs/receipts.md lists them. One damage gives one finding: a check that could only repeat an earlier one is left out.
 */
export const FINDINGS = {
  'receipt-damaged': {
    means: 'the receipt is not JSON, or contradicts itself or its place',
    next: 'remove the receipt and run the day again, or restore it from a version of the bucket',
  },
  'receipt-newer': {
    means: 'the receipt was written by a newer vessel-export, which this one cannot read',
    next: 'verify and export with that vessel-export, or a newer one; leave the receipt as it is',
  },
  'receipt-missing': {
    means: 'the day has an object or a detail, but no receipt',
    next: 'run the day again; vessel-export does not cause this, so find out who removed the receipt',
  },
  'object-missing': {
    means: 'the receipt names an object that does not exist',
    next: 'run the day again with --force',
  },
  'object-unexpected': {
    means: 'the receipt says that the day is empty, but an object exists',
    next: 'remove the object, or run the day again with --force if the day is not empty',
  },
  'object-stray': {
    means: "files other than a day's object exist: readers of the lake read them as readings",
    next: 'find out who put them there, and move them out of the lake',
  },
  'not-in-table': {
    means: 'the receipt names an object that the table does not have: readers of the table miss the day',
    next: 'run the day again with --force; vessel-export does not cause this, so find out who writes to the log',
  },
  'table-file-missing': {
    means: 'the table names a file that does not exist: readers of the table fail',
    next: 'run the day again with --force; find out who removes files of the lake',
  },
  'table-differs': {
    means: 'table and receipt do not name the same file for the day',
    next: 'run the day again with --force; find out who writes to the log',
  },
  'table-statistics-differ': {
    means: 'statistics of a file in the log are wrong: readers skip files by them, and may miss rows',
    next: 'run the day again with --force; find out who writes to the log',
  },
  'log-damaged': {
    means:
      'the log of the table, or its newest entries, are lost or cannot be read: readers see a wrong state of the job, and nothing can be published',
    next: "restore the file that the message names, from a version of the bucket or a backup, or write a new log from the receipts: 'vessel-export rebuild-log JOB --yes'; then verify again",
  },
  'checkpoint-damaged': {
    means:
      'the checkpoint that _last_checkpoint names does not exist or cannot be read: readers that use it fail',
    next: "'vessel-export rebuild-log JOB --yes' writes another one; find out who writes to the log",
  },
  'table-schema-differs': {
    means: 'columns of the table are not those of its files: readers see nulls instead, or fail',
    next: "'vessel-export rebuild-log JOB --yes' corrects them; find out who writes to the log",
  },
  'table-unsupported': {
    means:
      'another writer has changed the table in a way that is not supported (a newer protocol, another format, other partitions): nothing is published into it',
    next: "undo the change with that writer; or, to discard its changes, move JOB/_delta_log out of the lake and run 'vessel-export rebuild-log JOB --yes'",
  },
  'size-differs': {
    means: 'the object has another size than in the receipt: truncated, or replaced',
    next: 'run the day again with --force',
  },
  'checksum-differs': {
    means: 'bytes of the object are not those that were published',
    next: 'run the day again with --force; if it occurs again, check the disk, and who writes to the lake',
  },
  'footer-unreadable': {
    means: 'the object is not a Parquet file, although its bytes are those that the receipt names',
    next: 'run the day again with --force, and report it',
  },
  'schema-differs': {
    means: 'columns, their types or their statistics are not those of the dataset',
    next: 'run the day again with --force',
  },
  'rows-differ': {
    means: 'receipt, object and detail do not agree on the number of rows or series',
    next: FORCE_THEN_SHRINK,
  },
  'times-differ': {
    means: 'receipt, object and detail do not agree on first and last times',
    next: 'run the day again with --force',
  },
  'outside-day': {
    means: 'the object holds rows of another day',
    next: 'run the day again with --force, and report it',
  },
  'detail-missing': {
    means: 'the detail that the receipt names does not exist',
    next: 'run the day again with --force: the bytes of the object stay the same, the detail is written again',
  },
  'detail-differs': {
    means: 'the detail is not the one that the receipt names',
    next: 'run the day again with --force: the bytes of the object stay the same, the detail is written again',
  },
  'proof-differs': {
    means: 'counts and times in receipt and detail do not prove what the receipt claims',
    next: FORCE_THEN_SHRINK,
  },
  'rows-unreadable': {
    means: 'the rows cannot be read, although the bytes are those that the receipt names',
    next: 'run the day again with --force, and report it',
  },
  'count-differs': {
    means: 'the number of rows per series and hour differs from the detail',
    next: `${FORCE_THEN_SHRINK}; receipt, object or detail were changed after publication`,
  },
  'values-differ': {
    means: "values differ from the service's statistics, although the counts are equal",
    next: 'run the day again with --force: either the object was changed together with its receipt, or the source has corrected readings since',
  },
  'source-changed': {
    means: 'the source counts other readings now than at publication: late data, no damage',
    next: 'reconcile, or run the day again with --force; both refuse a day with fewer readings (would-shrink): if the source is right, add --allow-shrink',
  },
  'not-verified': {
    means: 'the vessel-day could not be checked',
    next: 'see the message, and verify again',
  },
} as const satisfies Readonly<Record<string, { readonly means: string; readonly next: string }>>;

/** A name of `FINDINGS`. */
export type FindingName = keyof typeof FINDINGS;

const OF_ENTRY: readonly FindingName[] = [
  'not-in-table',
  'table-file-missing',
  'table-differs',
  'table-statistics-differ',
];

export function adviceFor(name: FindingName, dataset: Dataset): string {
  const { next } = FINDINGS[name];
  if (dataset !== 'metadata' || !next.includes('run the day again')) return next;
  const otherwise = OF_ENTRY.includes(name)
    ? "for an earlier one 'vessel-export rebuild-log JOB --yes' corrects the log from its receipt"
    : 'for an earlier one restore its files from a version of the bucket or a backup';
  return `${next}. A snapshot can be taken again on its own day only: ${otherwise}`;
}

/** A vessel-day, or of a stray file what its path tells. */
export type Place = Pick<VesselDay, 'job'> & Partial<VesselDay>;

/** `measurements/IMO9321483/2026-01-05` */
export function formatPlace({ job, vessel, date }: Place): string {
  return [job, vessel, date].filter((part) => part !== undefined).join('/');
}

/** One difference, with its place and both sides. */
export interface Finding {
  readonly name: FindingName;
  readonly day: Place;
  /** Key of the file that it was found in. */
  readonly where: string;
  readonly found: string;
  readonly expected: string;
  readonly next: string;
}

/** A message that is no finding. */
export interface VerifyWarning {
  /** `unfinished`: an attempt is running or was interrupted. `not-compared`: the service could not be queried. `fewer-series`, `other-vessel`: warnings of a receipt until they are accepted. */
  readonly name: 'unfinished' | 'not-compared' | 'metadata-changed' | Warning['kind'];
  readonly day: VesselDay;
  readonly text: string;
}

/** Found, expected, at a place: what a check says before it is known of which vessel-day. */
export type Difference = Omit<Finding, 'day' | 'next'>;

export function difference(name: FindingName, where: string, found: string, expected: string): Difference {
  return { name, where, found, expected };
}

export type Sides = Pick<Finding, 'found' | 'expected'>;

/** A difference of a place. Both sides may hold what stands in the lake: they are cleaned and bounded; the key is exact. */
export function findingAt(day: Place, dataset: Dataset, { found, expected, ...rest }: Difference): Finding {
  const next = adviceFor(rest.name, dataset);
  return { ...rest, day, next, found: cleanMessage(found), expected: cleanMessage(expected) };
}

/** The first few of many differences as one; none where there are none. */
export function differenceOf(name: FindingName, where: string, differing: readonly Sides[]): Difference[] {
  if (differing.length === 0) return [];
  const found = firstFew(differing.map((sides) => sides.found));
  const expected = firstFew(differing.map((sides) => sides.expected));
  return [{ name, where, found, expected }];
}

export function firstFew(texts: readonly string[], shown = 3): string {
  const more = texts.length > shown ? `; and ${texts.length - shown} more` : '';
  return texts.slice(0, shown).join('; ') + more;
}
