/** Readings and statistics that cannot be, or are not true. */
import type { Category, HostileInput } from '../input.ts';
import { words } from '../input.ts';
import { rewritten } from './answers.ts';
import type { ExporterFace } from './exporter-face.ts';
import { READINGS } from './exporter-face.ts';
import type { PeerOptions } from './held.ts';
import { peer } from './held.ts';

/** JSON text of the first reading's value, and whether a day with it can be right. */
const VALUES: readonly string[] = [
  '',
  '1 2',
  "'x'",
  '"\\ud800"',
  '"\\u0000"',
  '"\\x"',
  '"\t"',
  '"\u001b[31m"',
  ...words('1e400 -1e400 9223372036854775808 -9223372036854775809 1e5 -0 0.1e-400 5. .5 +1 01 0x10'),
  ...words('NaN Infinity undefined 1_000 true null "x" {"__proto__":{"x":1}} {"a":1,"a":2} [[]] { 1}'),
  ...words('1,"value":2'),
];

const firstValue = (value: string) => (text: string) =>
  text.replace(/"value":(?:[^{"][^,}]*)/, `"value":${value}`);

const TIMES: readonly string[] = [
  '',
  '2026-01-05T00:00:00Z\\u0000',
  '2026-01-05 00:00:00Z',
  ...words('10000-01-01T00:00:00.000000Z +010000-01-01T00:00:00Z 0000-01-01T00:00:00Z'),
  ...words('-000001-01-01T00:00:00Z 2026-01-05T23:59:60.000000Z 2026-01-05T24:00:00.000000Z'),
  ...words('2026-01-05T00:00:00.0000001Z 2026-01-05T00:00:00.1234567Z 2026-01-05T00:00:00.000000'),
  ...words('2026-01-05T00:00:00+00:00 2026-01-05T02:00:00+02:00 2026-02-30T00:00:00Z 2026-01-05'),
  ...words('1767571200 null 2026-01-05T00:00:00,5Z ٢٠٢٦-01-05T00:00:00Z'),
];

const firstTime = (time: string) => (text: string) =>
  text.replace(/"timestamp":"[^"]*"/, `"timestamp":"${time}"`);

/** Lines of readings, altered as a whole. */
const RECORDS: readonly (readonly [string, (text: string) => string])[] = [
  ['a field twice', (text) => text.replace('"value"', '"value":1,"value"')],
  [
    'a timestamp twice',
    (text) => text.replace('"timestamp"', '"timestamp":"2026-01-05T00:00:00Z","timestamp"'),
  ],
  ['a field in escapes', (text) => text.replace('"value"', '"v\\u0061lue"')],
  ['a prototype beside it', (text) => text.replace('{', '{"__proto__":{"value":5},')],
  [
    'a thousand more fields',
    (text) => text.replace('{', `{${Array.from({ length: 1_000 }, (_, i) => `"x${i}":${i}`).join()},`),
  ],
  ['a deep field more', (text) => text.replace('{', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`)],
  ['a string of 70 MB', (text) => text.replace(/"value":[^}]*/, `"value":"${'x'.repeat(70_000_000)}"`)],
  ['an id of 10 MB', (text) => text.replace(/"id":"[^"]*"/, `"id":"${'x'.repeat(10_000_000)}"`)],
  ['20,000 ids of 5 kB', (text) => `${many(20_000, 'x'.repeat(5_000))}${text}`],
  ['a line of 70 MB of spaces', (text) => text.replace('{', `{${' '.repeat(70_000_000)}`)],
  ['200,000 empty lines', (text) => '\n'.repeat(200_000) + text],
  [
    'a reading of another series',
    (text) => text.replace(/"id":"[^"]*"/, '"id":"00000000-0000-4000-8000-000000000000"'),
  ],
  ['60,000 series', (text) => `${many(60_000)}${text}`],
  [
    'readings of the next day',
    (text) => `${text}{"id":"x","timestamp":"2026-01-06T00:00:00.000000Z","value":1}\n`,
  ],
  ['one reading more', (text) => text.replace(/^(.*\n)/, '$1$1')],
  ['one reading less', (text) => text.slice(text.indexOf('\n') + 1)],
  ['an error among them', (text) => text.replace('\n', '\n{"error":"\\u001b[31mbroken"}\n')],
];

function many(count: number, more = ''): string {
  return Array.from(
    { length: count },
    (_, i) =>
      `{"id":"00000000-0000-4000-8000-${String(i).padStart(12, '0')}${more}","timestamp":"2026-01-05T00:00:00.000000Z","value":1}\n`,
  ).join('');
}

const readings = (
  name: string,
  rewrite: (text: string) => string,
  options: PeerOptions = {},
): HostileInput<ExporterFace> => peer(name, rewritten('measurements', rewrite), options);

/** A value that JSON allows is what the source has: counts and times cannot tell it from another. */
const ITS_OWN = { isOtherData: true };

export const VALUES_CATEGORY: Category<ExporterFace> = {
  name: 'readings',
  inputs: [
    ...VALUES.map((value) => readings(`value ${value}`, firstValue(value), ITS_OWN)),
    ...VALUES.filter((_, index) => index % 4 === 0).map((value) =>
      readings(`as JSON, value ${value}`, firstValue(value), {
        ...ITS_OWN,
        job: { ...READINGS, transport: 'json' },
      }),
    ),
    ...TIMES.map((time) => readings(`time ${time}`, firstTime(time))),
    readings('a number of a megabyte', firstValue('9'.repeat(1_000_000)), ITS_OWN),
    ...RECORDS.map(([name, rewrite]) => readings(name, rewrite)),
  ],
};

const counts = (of: (count: string) => string) => (text: string) =>
  text.replaceAll(/"count":(\d+)/g, (_, count: string) => `"count":${of(count)}`);

const LIES: readonly (readonly [string, (text: string) => string])[] = [
  ['one more everywhere', counts((count) => String(Number(count) + 1))],
  ['nothing anywhere', counts(() => '0')],
  ['no rows', () => '[]'],
  ...[
    ...words('-1 1e5 1.5 9007199254740993 9223372036854775807 1e400 null "5" true [] {} NaN'),
    ...words('99999999999999999999999'),
  ].map((count) => [`count ${count}`, counts(() => count)] as const),
  [
    'first time of another day',
    (text) => text.replaceAll(/"first_time":"2026-01-05/g, '"first_time":"2026-01-04'),
  ],
  [
    'last before first',
    (text) => text.replaceAll(/"last_time":"2026-01-05T\d\d/g, '"last_time":"2026-01-05T00'),
  ],
  ['times that are none', (text) => text.replaceAll(/"first_time":"[^"]*"/g, '"first_time":"yesterday"')],
  [
    'times of the year 10000',
    (text) => text.replaceAll(/"last_time":"[^"]*"/g, '"last_time":"10000-01-01T00:00:00Z"'),
  ],
  ['windows of another day', (text) => text.replaceAll('"timestamp":"2026-01-05', '"timestamp":"2025-01-05')],
  ['windows at odd times', (text) => text.replaceAll(':00:00.000000Z","id"', ':07:00.000000Z","id"')],
  ['each row twice', (text) => text.replace(/^\[(.*)\]\s*$/s, '[$1,$1]')],
  ['a prototype for an aggregation', (text) => text.replaceAll('"count"', '"__proto__"')],
  ['keys of another version', (text) => text.replaceAll('"aggregations"', '"Aggregations"')],
  ['another series', (text) => text.replace(/"id":"[^"]*"/, '"id":"00000000-0000-4000-8000-000000000000"')],
  [
    '500,000 rows',
    () =>
      `[${Array.from({ length: 500_000 }, () => '{"timestamp":"2026-01-05T00:00:00.000000Z","id":"x","aggregations":{"count":1}}').join()}]`,
  ],
  [
    '70,000 series',
    () =>
      `[${Array.from({ length: 70_000 }, (_, i) => `{"timestamp":"2026-01-05T00:00:00.000000Z","id":"s${i}","aggregations":{"count":1,"first_time":"2026-01-05T00:00:00Z","last_time":"2026-01-05T00:00:00Z"}}`).join()}]`,
  ],
  [
    '20,000 ids of 5 kB',
    () =>
      `[${Array.from({ length: 20_000 }, (_, i) => `{"timestamp":"2026-01-05T00:00:00.000000Z","id":"${i}${'x'.repeat(5_000)}","aggregations":{"count":1}}`).join()}]`,
  ],
  [
    'a deep aggregation',
    (text) =>
      text.replace('"aggregations":{', `"aggregations":{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`),
  ],
];

export const STATISTICS: Category<ExporterFace> = {
  name: 'statistics that lie',
  inputs: [
    ...LIES.map(([name, rewrite]) => peer(name, rewritten('statistics', rewrite))),
    ...LIES.slice(0, 12).map(([name, rewrite]) =>
      peer(`statistics are the data: ${name}`, rewritten('statistics', rewrite), {
        job: { ...READINGS, dataset: 'statistics', window: '1h', aggregations: ['mean', 'count'] },
        isOtherData: true,
      }),
    ),
  ],
};
