/** `series`: what each series is, by the newest snapshot that has it; a column for each name and part of a name. */
import { METADATA_COLUMNS } from '../encode/columns.ts';
import { columnName } from './column-names.ts';
import type { Dialect, Source, View, ViewedLake } from './dialect.ts';
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
/** What stands in SQL and in a path within JSON. */
const DOMAIN = /^[A-Za-z0-9][\w.:-]{0,62}$/;

/** Those of the names that a column can be made for, with the contract's own among them. */
export function viewedDomains(found: readonly string[]): string[] {
  const others = found.filter((name) => DOMAIN.test(name) && !WITH_COLUMNS.has(name));
  return [...new Set([VIS_OF_CONTRACT, ...others])].sort();
}

export function seriesView(d: Dialect, lake: ViewedLake, metadata: Source): View {
  const q = d.quote;
  const domains = lake.domains.map((domain) => ({ domain, column: columnName(domain) }));
  const vis = domains.filter(({ domain }) => VIS.test(domain)).map(({ column }) => column);
  const kept = METADATA_COLUMNS.map(({ name }) => name).filter((name) => name !== 'domains_json');
  const member = (path: readonly string[]) => orNull(d.json(q('domains_json'), path));
  const names = domains.flatMap(({ domain, column }): [string, string][] => [
    [nameIn(d, domain), `${column}_id`],
    ...(VIS.test(domain)
      ? [[member([domain, 'verboseId']), `${column}_verbose_id`] as [string, string]]
      : []),
  ]);
  const newest: [string, string][] = [
    ...['vessel', 'date', ...kept, 'domains_json'].map((name): [string, string] => [q(name), name]),
    [member(['jsmea', 'position']), 'jsmea_position'],
    [member(['jsmea', 'modifier']), 'jsmea_modifier'],
    ...names,
    [
      `row_number() OVER (PARTITION BY ${q('vessel')}, ${q('time_series_id')} ORDER BY ${q('date')} DESC, ${q('id')})`,
      'age',
    ],
  ];
  const shown: [string, string][] = [
    ...[q('vessel'), q('time_series_id'), q('id')].map((one, i): [string, string] => [
      one,
      ['vessel', 'time_series_id', 'id'][i]!,
    ]),
    [`coalesce(${orNull(q('flat_short_name'))}, ${withoutVessel(d, q('id'))})`, 'tag'],
    [q('unit_of_measure'), 'unit'],
    [q('date'), 'snapshot'],
    ...kept
      .filter((name) => !['time_series_id', 'id', 'unit_of_measure'].includes(name))
      .map((name): [string, string] => [q(name), name]),
    [q('jsmea_position'), 'jsmea_position'],
    [q('jsmea_modifier'), 'jsmea_modifier'],
    ...names.map(([, name]): [string, string] => [q(name), name]),
    ...vis.flatMap((column) => visParts(d, column)),
    [q('domains_json'), 'domains_json'],
  ];
  const body = [
    'WITH newest AS (',
    'SELECT',
    selectList(d, newest),
    `FROM ${relation(d, lake, metadata.relation)}`,
    '), split AS (',
    'SELECT',
    `  n.*,\n${selectList(
      d,
      vis.flatMap((column) => visTails(d, column)),
    )}`,
    'FROM newest n',
    `WHERE n.${q('age')} = 1`,
    ')',
    'SELECT',
    selectList(d, shown),
    'FROM split',
  ].join('\n');
  return { name: 'series', body, comments: new Map() };
}

/** Version 2025-10-31 gave the name itself, where later ones give an object. */
function nameIn(d: Dialect, domain: string): string {
  const whole = d.json(d.quote('domains_json'), [domain]);
  const plain = `CASE WHEN ${whole} NOT LIKE ${d.literal('{%')} THEN ${orNull(whole)} END`;
  return `coalesce(${orNull(d.json(d.quote('domains_json'), [domain, 'id']))}, ${plain})`;
}

/** What follows each marker of a VIS name; cut at the next one by `visParts`. */
function visTails(d: Dialect, column: string): [string, string][] {
  const name = `n.${d.quote(`${column}_id`)}`;
  return [
    [after(d, name, '/'), `${column}_primary_tail`],
    [after(d, name, '/sec/'), `${column}_secondary_tail`],
    ...Object.entries(VIS_TAGS).map(([tag, what]): [string, string] => [
      after(d, name, `/${tag}-`),
      `${column}_${what}_tail`,
    ]),
  ];
}

function visParts(d: Dialect, column: string): [string, string][] {
  const tail = (what: string) => d.quote(`${column}_${what}_tail`);
  const primary = before(d, tail('primary'), '/meta/');
  return [
    [before(d, `(${primary})`, '/sec/'), `${column}_primary_item`],
    [before(d, tail('secondary'), '/meta/'), `${column}_secondary_item`],
    ...Object.values(VIS_TAGS).map((what): [string, string] => [
      before(d, tail(what), '/'),
      `${column}_${what}`,
    ]),
  ];
}
