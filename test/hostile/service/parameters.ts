/** Hostile parameters: injection, numbers and times at the edges, formats. */
import type { Category } from '../input.ts';
import { words } from '../input.ts';
import type { Expectation } from './held.ts';
import { ANSWERED, query, request } from './held.ts';
import type { ServiceFace } from './service-face.ts';
import { VESSEL } from './service-face.ts';

const OWN = `flat/${VESSEL}/Roll`;
const FROM = '2026-01-05T00:00:00Z';

const PAYLOADS: readonly string[] = [
  "' OR '1'='1",
  "'; DROP TABLE readings; --",
  "x' UNION SELECT content FROM read_text('/etc/passwd') --",
  "') UNION ALL SELECT * FROM read_csv('/etc/passwd') --",
  "'; COPY (SELECT 1) TO '/tmp/vessel-export-injected'; --",
  "\"; ATTACH '/tmp/x.db' AS x; --",
  '$$ || pg_sleep(20) --',
  '/etc/passwd\0.parquet',
  '{{7*7}}<%= 7*7 %>#{7*7}',
  '; cat /etc/passwd | sh',
  ...words('../../../../etc/passwd ..%2f..%2f..%2fetc%2fpasswd **/*.parquet %0d%0aset-cookie:%20x=1'),
  ...words('<script>alert(1)</script> __proto__ constructor'),
];

const PARAMETERS: readonly string[] = [
  ...words('from to from_epoch to_epoch since last year month day format verbose output_domain'),
  ...words('window window_edges aggregations aggregation'),
];

/** A header may not be split, nor a file be read, whatever an answer says. */
const UNHARMED: Expectation = {
  ...ANSWERED,
  check: (answer, face) => {
    if ('set-cookie' in answer.headers) return 'a header was put into the answer';
    if (/root:[x*]?:0:0/.test(answer.body.toString('latin1'))) return 'a file is shown';
    return ANSWERED.check?.(answer, face);
  },
};

const ENCODED = (text: string) =>
  /%[0-9a-f]{2}/i.test(text) ? text.replaceAll(' ', '%20') : encodeURIComponent(text);

export const INJECTION: Category<ServiceFace> = {
  name: 'injection',
  inputs: PAYLOADS.flatMap((payload, index) => [
    // Each payload in a few parameters, all parameters in turn.
    ...[0, 4, 8, 12].map((step) => {
      const name = PARAMETERS[(index + step) % PARAMETERS.length]!;
      const family = step % 8 === 0 ? 'statistics' : 'measurements';
      return request(
        `${family} ${name}=${payload}`,
        { path: `/${family}/${OWN}?${name}=${ENCODED(payload)}` },
        UNHARMED,
      );
    }),
    request(`path level ${payload}`, { path: `/measurements/flat/${VESSEL}/${ENCODED(payload)}` }, UNHARMED),
    request(`vessel ${payload}`, { path: `/metadata/flat/${ENCODED(payload)}/*` }, UNHARMED),
    request(`domain ${payload}`, { path: `/metadata/${ENCODED(payload)}/x` }, UNHARMED),
    request(`id ${payload}`, { path: `/statistics/id/${ENCODED(payload)}` }, UNHARMED),
    query(
      `expression ${payload}`,
      JSON.stringify([`flat/${payload}/*`, `id/${payload}`]),
      { family: 'measurements' },
      UNHARMED,
    ),
    query(`expression alone ${payload}`, JSON.stringify([payload]), { family: 'statistics' }, UNHARMED),
  ]),
};

const NUMBERS: readonly string[] = [
  '',
  ' ',
  ...words('-1 -0 0 1e3 1e308 1e400 NaN Infinity -Infinity 0x10 ١٢٣ 1_000 9007199254740993'),
  ...words('9223372036854775808 18446744073709551616 99999999999 -99999999999 1.5 null true [] {} １'),
  ...words('2026.0 +2026 00002026'),
];

const TIMES: readonly string[] = [
  '',
  'Mon, 05 Jan 2026 00:00:00 GMT',
  '2026-01-05T00:00:00Z\0',
  `2026-01-05T${'0'.repeat(5_000)}Z`,
  ...words('now 0000-01-01T00:00:00Z 0001-01-01T00:00:00Z 9999-12-31T23:59:59Z 10000-01-01T00:00:00Z'),
  ...words('+010000-01-01T00:00:00Z -000001-01-01T00:00:00Z 2026-01-01T24:00:00Z'),
  ...words('2026-01-01T25:00:00Z 2016-12-31T23:59:60Z 2026-13-01T00:00:00Z 2026-00-01'),
  ...words('2026-02-30T00:00:00Z 2026-01-05T00:00:00.1234567Z 2026-01-05T00:00:00+99:99'),
  ...words('2026-01-05T00:00:00+14:00 2026-01-05T00:00:00[Europe/Oslo] 2026-W01-1 20260105T000000Z'),
  ...words('1767571200'),
];

const DURATIONS: readonly string[] = [
  '',
  '1 day',
  '1day\0',
  ...words('0day -1day 1 day 1.5days 999999months 999999days 1000000days 1e5days 99999999999minutes'),
  ...words('1fortnight 1day1hour P1D 1DAYS NaNdays Infinityhours １day'),
];

const WINDOWS: readonly string[] = [
  '',
  ...words('0m -1m none NONE 1 1.5h 999999y 999999s 1ns 1us 1s 13mo 25h 7w'),
  ...['P1D', '1h1m', '1e3m', '__proto__', '9'.repeat(400)],
];

/** All years of a vessel may take a while: no answer yet is right where others are answered meanwhile. */
const MAY_WORK: Expectation = { ...ANSWERED, statuses: [0, ...ANSWERED.statuses] };

function times(family: string, text: string) {
  return request(`${family}?${text}`, { path: `/${family}/${OWN}?${text}`, waitMs: 10_000 }, MAY_WORK);
}

const PAIRS: readonly string[] = [
  ...words('from=2026-01-06&to=2026-01-05 from=2026-01-05&to=2026-01-05 from=2026-01-05&since=1day'),
  ...words('from_epoch=2&to_epoch=1 month=1 day=1 year=2026&day=1 year=2026&month=2&day=29 year=1969'),
  ...words('year=2200 year=2026&month=13 from=1970-01-01&to=2199-12-31 to=1970-01-01T00:30:00Z'),
  ...words('since=999999days from=2026-01-05&from=2026-01-06 last=999999months'),
  ...words('from_epoch=0&to_epoch=7258118400 year=2026&from_epoch=1'),
];

export const EDGES: Category<ServiceFace> = {
  name: 'numbers and times',
  inputs: [
    ...['from_epoch', 'to_epoch', 'year', 'month', 'day'].flatMap((name, turn) =>
      NUMBERS.filter((_, index) => index % 2 === turn % 2).map((number) => {
        const rest = name === 'month' ? '&year=2026' : name === 'day' ? '&year=2026&month=1' : '';
        return times('measurements', `${name}=${encodeURIComponent(number)}${rest}`);
      }),
    ),
    ...TIMES.map((time) => times('measurements', `from=${encodeURIComponent(time)}&to=2026-01-05T00:01:00Z`)),
    ...TIMES.map((time) => times('statistics', `from=${FROM}&to=${encodeURIComponent(time)}&window=1year`)),
    ...DURATIONS.flatMap((text, index) =>
      times(
        index % 2 === 0 ? 'statistics' : 'measurements',
        `${index % 3 === 0 ? 'last' : 'since'}=${encodeURIComponent(text)}&window=1year`,
      ),
    ),
    ...WINDOWS.map((window) =>
      times('statistics', `from=${FROM}&to=2026-01-05T01:00:00Z&window=${encodeURIComponent(window)}`),
    ),
    ...PAIRS.map((pair, index) =>
      times(index % 2 === 0 ? 'statistics' : 'measurements', `${pair}&window=10y`),
    ),
    ...[
      '',
      `${'count,'.repeat(2_000)}count`,
      ...words(', count, count,count COUNT * percentile constructor count;min'),
    ].map((names) =>
      times(
        'statistics',
        `from=${FROM}&to=2026-01-05T01:00:00Z&window=1h&aggregations=${encodeURIComponent(names)}`,
      ),
    ),
  ],
};

const FORMATS: readonly string[] = [
  '',
  ...words('JSON xml html csv parquet ndjson json,csv json%00 ../json toString arrow *'),
];
const ACCEPTS: readonly string[] = [
  '',
  'application/*;q=0.1, */*',
  `${'a/b,'.repeat(5_000)}*/*`,
  '\u00ff/\u00fe',
  'application/x-ndjson ; q = 1',
  `application/${'x'.repeat(30_000)}`,
  ...words('* */*;q=0 application/json;q=NaN application/json;q=-1 application/json;q=1e400'),
  ...words('text/html ,,,, ;;;; application/vnd.apache.parquet application/json;q=0.0001;q=1'),
  ...words('__proto__'),
];
const VERSIONS: readonly string[] = [
  ...[
    '',
    '2026-09-10, 2025-10-31',
    '9999-99-99',
    'latest',
    '__proto__',
    '2026-09-10\t',
    'x'.repeat(10_000),
    '2026-01-01-beta',
  ],
  ...['2026-09-10"', '20260910', '-1', "' OR 1=1 --"],
];

export const FORMS: Category<ServiceFace> = {
  name: 'formats and versions',
  inputs: [
    ...['measurements', 'metadata', 'statistics'].flatMap((family) => [
      ...FORMATS.map((format) =>
        request(`${family} format=${format}`, { path: `/${family}/${OWN}?format=${format}` }),
      ),
      ...ACCEPTS.filter((_, index) => family === 'measurements' || index % 3 === 0).map((accept) =>
        request(`${family} Accept: ${accept}`, { path: `/${family}/${OWN}`, headers: [`accept: ${accept}`] }),
      ),
    ]),
    ...VERSIONS.map((version) =>
      request(`x-api-version: ${version}`, {
        path: `/metadata/${OWN}`,
        headers: [`x-api-version: ${version}`],
      }),
    ),
    request('two versions', {
      path: `/metadata/${OWN}`,
      headers: ['x-api-version: 2026-09-10', 'x-api-version: 2025-10-31'],
    }),
    ...[
      ...words('verbose=TRUE verbose=1 verbose= verbose=true&verbose=false output_domain='),
      ...words('window_edges=WHOLE format=json&format=csv'),
    ].map((text) => times('statistics', text)),
  ],
};
