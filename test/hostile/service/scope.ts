/** A client that may read one vessel asks for others. */
import type { Category, HostileInput } from '../input.ts';
import { words } from '../input.ts';
import type { Expectation } from './held.ts';
import { nothingForeign, query, REFUSED, request } from './held.ts';
import type { ServiceFace } from './service-face.ts';
import { FOREIGN, VESSEL } from './service-face.ts';

const DAY = 'from=2026-01-05T00:00:00Z&to=2026-01-05T01:00:00Z';
const RANGES = {
  metadata: '',
  measurements: `?${DAY}`,
  statistics: `?${DAY}&window=1h&aggregations=count`,
} as const;
type Family = keyof typeof RANGES;
const FAMILIES = Object.keys(RANGES) as Family[];

const OWN_ONLY: Expectation = { statuses: [200, ...REFUSED.statuses], check: nothingForeign };

const DOMAIN_EXPRESSIONS: readonly string[] = [
  `flat/${FOREIGN}/*`,
  `flat/${FOREIGN.toLowerCase()}/*`,
  `parameters/${FOREIGN}/{Roll,*}`,
  `parameters/{${VESSEL},${FOREIGN}}/*`,
  `parameters/{${VESSEL},{${FOREIGN},IMO*}}/{*,Roll}`,
  `maker/${FOREIGN}/*/*`,
  `vis-3-8a/${FOREIGN}/*/*/meta/*`,
  `jsmea/${FOREIGN}/*/*/*/*/*/*/*`,
  `flat/${VESSEL}/../${FOREIGN}/*`,
  `flat/${VESSEL},${FOREIGN}/*`,
  `flat/${VESSEL}/*,flat/${FOREIGN}/*`,
  ...words('flat/*/* flat/IMO*/* flat/*9322853/* maker/*/*/* vis-3-8a/*/*/*/*/*'),
  ...words('jsmea/*/*/*/*/*/*/*/*'),
];

const PATHS: readonly string[] = [
  ...DOMAIN_EXPRESSIONS.map((expression) => expression.replaceAll('{', '%7B').replaceAll('}', '%7D')),
  `flat/${VESSEL}%2F..%2F${FOREIGN}/*`,
  `flat/${VESSEL}%00${FOREIGN}/*`,
  `flat/${FOREIGN}%20/*`,
  `flat/%20${FOREIGN}/*`,
  `flat/${FOREIGN}/%2A`,
  `FLAT/${FOREIGN}/*`,
  `flat/ＩＭＯ9322853/*`,
  `jsmea/${FOREIGN}`,
  ...words('flat/%49MO9322853/* flat/%2549MO9322853/* jsmea/* statistics/../metadata/flat/*/*'),
];

/** The foreign ids in an `id` expression. */
const ID_LISTS: readonly (readonly [string, (own: string, foreign: string) => string])[] = [
  ['a foreign id', (_, foreign) => foreign],
  ['a foreign id in upper case', (_, foreign) => foreign.toUpperCase()],
  ['own and foreign', (own, foreign) => `${own},${foreign}`],
  ['foreign and own', (own, foreign) => `${foreign},${own}`],
  ['foreign with spaces', (own, foreign) => `${own}, ${foreign} `],
  ['foreign without dashes', (_, foreign) => foreign.replaceAll('-', '')],
  ['foreign in braces', (_, foreign) => `{${foreign}}`],
  ['a wildcard for an id', () => '*'],
  ['the head of a foreign id', (_, foreign) => `${foreign.slice(0, 8)}*`],
];

function foreignId(face: ServiceFace): string {
  for (const id of face.foreignIds) if (!id.includes('/')) return id;
  throw new Error('no foreign series');
}

const encoded = (text: string) => encodeURI(text).replaceAll('%25', '%');

function byIds(family: Family): HostileInput<ServiceFace>[] {
  return ID_LISTS.flatMap(([name, list]) => {
    const ids = (face: ServiceFace) => list(face.ownIds[0]!, foreignId(face));
    const path = (face: ServiceFace) => `/${family}/id/${encodeURIComponent(ids(face))}${RANGES[family]}`;
    return [
      request(`${family}: ${name}, GET`, (face) => ({ path: path(face) }), OWN_ONLY),
      request(
        `${family}: ${name}, POST`,
        (face) => ({
          method: 'POST',
          path: `/${family}/query${RANGES[family]}`,
          headers: ['content-type: application/json'],
          body: JSON.stringify([`id/${ids(face)}`]),
        }),
        OWN_ONLY,
      ),
    ];
  });
}

/** What is asked of one's own vessel with an answer that could name others. */
const NAMED_OTHERWISE: readonly HostileInput<ServiceFace>[] = [
  ...['id', 'jsmea', 'flat', 'vis-3-8a', 'maker', 'parameters', '__proto__', '*', 'id,flat'].flatMap(
    (domain) => [
      request(
        `output_domain=${domain} of all`,
        { path: `/measurements/flat/*/*?${DAY}&output_domain=${domain}` },
        OWN_ONLY,
      ),
      request(
        `statistics, output_domain=${domain} of all`,
        { path: `/statistics/flat/*/*${RANGES.statistics}&output_domain=${domain}` },
        OWN_ONLY,
      ),
    ],
  ),
  request(
    'Parquet of all',
    { path: `/measurements/flat/*/*?${DAY}&format=parquet&output_domain=flat` },
    OWN_ONLY,
  ),
  ...['vessel', 'vessels', 'scope', 'imo', 'mayRead', 'client'].map((name) =>
    request(
      `an invented parameter ${name}`,
      { path: `/metadata/flat/*/*?${name}=*&${name}=${FOREIGN}` },
      OWN_ONLY,
    ),
  ),
  ...['x-forwarded-user: wide', 'x-original-url: /fleet/metadata/flat/IMO9322853/*', 'x-client-id: wide'].map(
    (header) => request(`header ${header}`, { path: '/metadata/flat/*/*', headers: [header] }, OWN_ONLY),
  ),
];

/** Nobody can tell a foreign series from one that there is not. */
const NO_ORACLE: HostileInput<ServiceFace> = {
  name: 'a foreign id and one that is nobody’s get the same answer',
  async send(face) {
    const ask = (id: string) => face.ask({ path: `/metadata/id/${id}` });
    const [foreign, unknown] = [foreignId(face), '00000000-0000-4000-8000-000000000000'];
    const [a, b] = [await ask(foreign), await ask(unknown)];
    const [textA, textB] = [a, b].map(({ body }) => body.toString('utf8'));
    if (a.status === b.status && textA!.replaceAll(foreign, unknown) === textB) return undefined;
    return `${a.status} ${textA} against ${b.status} ${textB}`;
  },
};

export const SCOPE: Category<ServiceFace> = {
  name: 'scope',
  inputs: [
    ...FAMILIES.flatMap((family) => [
      ...PATHS.map((path) =>
        request(`${family}: GET ${path}`, { path: `/${family}/${encoded(path)}${RANGES[family]}` }, OWN_ONLY),
      ),
      ...DOMAIN_EXPRESSIONS.map((expression) =>
        query(
          `${family}: POST ${expression}`,
          JSON.stringify([expression, `flat/${VESSEL}/Roll`]),
          { path: `/${family}/query${RANGES[family]}` },
          OWN_ONLY,
        ),
      ),
      ...byIds(family),
    ]),
    ...NAMED_OTHERWISE,
    NO_ORACLE,
  ],
};
