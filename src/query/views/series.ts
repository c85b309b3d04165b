/** `series`: what each series is, by the newest snapshot that has it; a column for each name and part of a name. */
import { type Sql, sql } from '../../core/duckdb/sql-text.ts';
import { METADATA_COLUMNS } from '../../parquet/write/columns.ts';
import { columnName, columnNames } from './column-names.ts';
import type { Dialect, SelectItem, Source, View, ViewedLake } from './dialect.ts';
import { after, before, orNull, relation, selectList, withoutVessel } from './dialect.ts';

/** Domains whose names have columns in the files. */
const WITH_COLUMNS: ReadonlySet<string> = new Set(['id', 'jsmea', 'flat', 'maker']);
/** A domain of vessel item paths: `IMO…/<primary>/sec/<secondary>/meta/qty-…/cnt-…`. */
const VIS = /^vis-/;
/** The one that the contract names: it has columns in every lake. */
const VIS_OF_CONTRACT = 'vis-3-8a';
/** Metadata tags of VIS, and what they are called in columns. */
const VIS_TAGS = {
  qty: 'quantity',
  cnt: 'content',
  calc: 'calculation',
  state: 'state',
  cmd: 'command',
  type: 'type',
  pos: 'position',
  detail: 'detail',
} as const;
/** What stands in a path within JSON. */
const DOMAIN = /^[A-Za-z0-9][\w.:-]{0,62}$/;
/** Columns of the files, and what this view makes of them. */
const KEPT = METADATA_COLUMNS.map(({ name }) => name).filter((name) => name !== 'domains_json');
const JSMEA_PARTS = ['jsmea_position', 'jsmea_modifier'] as const;
const FIXED = [
  ...['vessel', 'date', 'tag', 'unit', 'snapshot', 'domains_json', 'age'],
  ...[...KEPT, ...JSMEA_PARTS],
] as const;

/** Those of the names that a column can be made for, with the contract's own among them. */
export function viewedDomains(found: readonly string[]): string[] {
  const others = found.filter((name) => DOMAIN.test(name) && !WITH_COLUMNS.has(name));
  return [...new Set([VIS_OF_CONTRACT, ...others])].sort();
}

/** Of a VIS name: what follows each marker, and what is left of that before the next one. */
const tailsOf = (column: string) =>
  ['primary', 'secondary', ...Object.values(VIS_TAGS)].map((part) => `${column}_${part}_tail`);
const partsOf = (column: string) => [
  ...['primary_item', 'secondary_item', ...Object.values(VIS_TAGS)].map((part) => `${column}_${part}`),
];

/** What the columns of each domain begin with. Those of the contract's own are called alike in every lake. */
function prefixes(domains: readonly string[]): ReadonlyMap<string, string> {
  const columnsOf = (column: string, domain: string) => [
    `${column}_id`,
    ...(VIS.test(domain) ? [`${column}_verbose_id`, ...partsOf(column), ...tailsOf(column)] : []),
  ];
  const own = columnName(VIS_OF_CONTRACT);
  const others = domains.filter((domain) => domain !== VIS_OF_CONTRACT);
  const taken = [...FIXED, ...columnsOf(own, VIS_OF_CONTRACT)];
  return new Map([[VIS_OF_CONTRACT, own], ...columnNames(others, taken, { columnsOf, maxChars: 100 })]);
}

export function seriesView(d: Dialect, lake: ViewedLake, metadata: Source): View {
  const q = d.quote;
  const prefixOf = prefixes(lake.domains);
  const domains = lake.domains.map((domain) => ({ domain, column: prefixOf.get(domain)! }));
  const vis = domains.filter(({ domain }) => VIS.test(domain)).map(({ column }) => column);
  const own = (name: string): SelectItem => [q(name), name];
  const member = (path: readonly string[]) => orNull(d.json(q('domains_json'), path));
  const names = domains.flatMap(({ domain, column }): SelectItem[] => [
    [nameIn(d, domain), `${column}_id`],
    ...(VIS.test(domain) ? [[member([domain, 'verboseId']), `${column}_verbose_id`] as const] : []),
  ]);
  const newest: SelectItem[] = [
    ...['vessel', 'date', ...KEPT, 'domains_json'].map(own),
    [member(['jsmea', 'position']), 'jsmea_position'],
    [member(['jsmea', 'modifier']), 'jsmea_modifier'],
    ...names,
    [
      sql`row_number() OVER (PARTITION BY ${q('vessel')}, ${q('time_series_id')} ORDER BY ${q('date')} DESC, ${q('id')})`,
      'age',
    ],
  ];
  const shown: SelectItem[] = [
    ...['vessel', 'time_series_id', 'id'].map(own),
    [sql`coalesce(${orNull(q('flat_short_name'))}, ${withoutVessel(d, q('id'))})`, 'tag'],
    [q('unit_of_measure'), 'unit'],
    [q('date'), 'snapshot'],
    ...KEPT.filter((name) => !['time_series_id', 'id', 'unit_of_measure'].includes(name)).map(own),
    ...JSMEA_PARTS.map(own),
    ...names.map(([, name]) => own(name)),
    ...vis.flatMap((column) => visParts(d, column)),
    own('domains_json'),
  ];
  const tails = vis.flatMap((column) => visTails(d, column));
  const body = sql`WITH newest AS (
SELECT
${selectList(d, newest)}
FROM ${relation(d, lake, metadata.relation)}
), split AS (
SELECT
  n.*,
${selectList(d, tails)}
FROM newest n
WHERE n.${q('age')} = 1
)
SELECT
${selectList(d, shown)}
FROM split`;
  return { name: 'series', body, comments: new Map() };
}

/** Version 2025-10-31 gave the name itself, where later ones give an object: that begins with a brace, and `{%` is dbt's. */
function nameIn(d: Dialect, domain: string): Sql {
  const whole = d.json(d.quote('domains_json'), [domain]);
  const plain = sql`CASE WHEN ${whole} NOT LIKE '{_%' THEN ${orNull(whole)} END`;
  return sql`coalesce(${orNull(d.json(d.quote('domains_json'), [domain, 'id']))}, ${plain})`;
}

function visTails(d: Dialect, column: string): SelectItem[] {
  const name = sql`n.${d.quote(`${column}_id`)}`;
  const markers = ['/', '/sec/', ...Object.keys(VIS_TAGS).map((tag) => `/${tag}-`)];
  return tailsOf(column).map((tail, index) => [after(d, name, markers[index]!), tail]);
}

function visParts(d: Dialect, column: string): SelectItem[] {
  const [primary, secondary, ...tags] = tailsOf(column).map(d.quote);
  const items = [
    before(d, sql`(${before(d, primary!, '/meta/')})`, '/sec/'),
    before(d, secondary!, '/meta/'),
    ...tags.map((tail) => before(d, tail, '/')),
  ];
  return partsOf(column).map((part, index) => [items[index]!, part]);
}
