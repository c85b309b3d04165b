/** Every row of "What becomes of a vessel-day that fails", and every cause that people are told of, has its tests. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FLEET_CAUSES, JOB_CAUSES } from '../../src/fleet/notice-causes.ts';

const ROOT = join(import.meta.dirname, '../..');
const DAY = 'notices.test.ts';
const LAKE = 'notices-of-the-lake.test.ts';
const PROCESSES = 'notices-of-processes.test.ts';

/** A file, and the beginning of a title in it, or of a row in the table of one. */
type Tested = readonly [file: string, title: string];

/** First cell of each row → where each of its failures is made to happen, and told of or not. */
const ROWS: Readonly<Record<string, readonly Tested[]>> = {
  'rate limited, or owned by another process': [
    [DAY, 'of a rate limit only where the night is not whole'],
    [PROCESSES, 'of a vessel-day that another live process owns'],
  ],
  'readings and counts disagree': [[DAY, 'counts that disagree']],
  'the vessel has [fewer series than before](receipts.md#fewer-series-than-before)': [
    [DAY, 'of a vessel with fewer series once its day is published'],
  ],
  'an answer of statistics lacks values': [[DAY, 'of statistics that always lack values']],
  'service or store in trouble (also 404, 403, an unforeseen status, an expression that matches nothing, a page that is neither JSON nor Parquet), or a defect of ours':
    [
      ...(
        [
          ...['5xx', '404', '403', 'a status that nobody foresaw', 'a page that is no JSON'],
          ...['of a page that is no Parquet', 'of an expression that matches nothing', 'of a defect of ours'],
        ] as const
      ).map((title): Tested => [DAY, title]),
      ...[
        'answers with errors of its own',
        'throttles',
        'is cut off in the middle',
        'that is out of reach',
      ].map((title): Tested => [LAKE, title]),
    ],
  "the day is not over by the service's clock": [[DAY, "of a day that is not over by the service's clock"]],
  'the service calls the question wrong (400, 406, 413, 414, 415), a record breaks the contract, or the day would [shrink](glossary.md#shrink)':
    [
      ...[400, 406, 413, 414, 415].map(
        (status): Tested => [DAY, `a question that the service calls wrong (${status})`],
      ),
      [DAY, 'a record that breaks the contract'],
      [DAY, 'of a vessel-day of the queue that would shrink'],
      [DAY, 'of readings that the source has lost, which look-backs refuse'],
    ],
  'credentials refused, disk full, no permission, and a probe of service and lake fails too': [
    [DAY, 'of a fault that everybody meets, which holds the queue'],
    [LAKE, 'refuses our credentials'],
    [LAKE, 'that is full'],
    [LAKE, 'that is read-only'],
    [LAKE, 'gives us no permission'],
  ],
  'the same, but the probe succeeds: a single prefix or folder is closed': [
    [DAY, 'of a folder that is closed, while others go on'],
  ],
  'a worker is killed': [
    [PROCESSES, 'nothing of a worker that is killed'],
    [PROCESSES, 'of a vessel-day with which three workers were killed'],
  ],
  'a worker is told to stop (SIGTERM)': [[PROCESSES, 'nothing of a worker that gets SIGTERM']],
};

/** What people are told of besides vessel-days that fail, and all of these. */
const CAUSES: Readonly<Record<string, readonly Tested[]>> = {
  hold: [[DAY, 'of a fault that everybody meets']],
  night: [[DAY, "of a day that is not over by the service's clock"]],
  failed: [[DAY, 'nothing of a vessel-day that was told to have failed']],
  refused: [[DAY, 'of readings that the source has lost']],
  'fewer-series': [[DAY, 'of a vessel with fewer series']],
  'late-data': [[DAY, 'of late data beyond the usual']],
  'not-planned': [
    [LAKE, 'that nothing is planned for want of Redis'],
    [LAKE, 'that is out of reach'],
  ],
  'look-back': [[DAY, 'of look-backs that always fail']],
  'not-compared': [[DAY, 'of a published day that a look-back cannot compare']],
  backfill: [[DAY, 'of a backfill that cannot go on']],
  snapshots: [[DAY, 'of snapshots of metadata that have stopped']],
  discovery: [[DAY, 'of a vessel that has left discovery']],
};

function firstCells(): string[] {
  const text = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
  const section = text.split('## What becomes of a vessel-day that fails')[1]!.split(/^##/m)[0]!;
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((row) => row.split(' | ')[0]!.slice(2));
}

test('a row of the table in the docs has tests, and no tests are of a row that is gone', () => {
  expect(firstCells()).toEqual(Object.keys(ROWS));
});

test('every cause that people are told of has its tests', () => {
  expect(Object.keys(CAUSES).sort()).toEqual(Object.keys({ ...FLEET_CAUSES, ...JOB_CAUSES }).sort());
});

test('each of them is there', () => {
  const texts = new Map(
    [DAY, LAKE, PROCESSES].map((file) => [file, readFileSync(join(import.meta.dirname, file), 'utf8')]),
  );
  const all = [...Object.values(ROWS), ...Object.values(CAUSES)].flat();
  const lost = all.filter(
    ([file, title]) => !["'", '"'].some((quote) => texts.get(file)!.includes(`${quote}${title}`)),
  );
  expect(lost).toEqual([]);
});
