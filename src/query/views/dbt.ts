/** A dbt project of a lake: its views as models, and tests that fail where a vessel-day is missing, refused or late. */
import { comment, joinSql, type Sql, sql, sqlAfter, yamlText } from '../../core/duckdb/sql-text.ts';
import { type Dialect, relation, type SelectItem, selectList, type ViewedLake } from './dialect.ts';
import { duckdb, duckdbColumns, jobRows } from './dialects/duckdb.ts';
import { spark } from './dialects/spark.ts';
import { VIEWS, viewsOf } from './views.ts';
import type { WideOptions } from './wide.ts';

/** dbt itself says only how many rows a test has found. */
const SAY_VESSEL_DAYS = sql`{% macro say_vessel_days(results) %}
  {% for result in results if result.status in ['fail', 'warn'] and 'vessel_days' in result.node.tags %}
    {% for row in run_query(result.node.compiled_code ~ ' LIMIT 20').rows %}
      {% do log(result.node.name ~ ': ' ~ row[0] ~ '/' ~ row[1] ~ '/' ~ row[2] ~ ': ' ~ row[3], info=True) %}
    {% endfor %}
  {% endfor %}
{% endmacro %}
`;

/** What differs between dbt's adapters. */
interface Adapter {
  readonly dialect: Dialect;
  readonly package: Sql;
  /** Statements before each run, which make what the sources are. */
  readonly setup: (lake: ViewedLake) => readonly Sql[];
  readonly receipts: (lake: ViewedLake) => Sql;
  /** A relation with the JSON text of each note as `json`, and of what is none. */
  readonly notes: (lake: ViewedLake) => Sql;
  /** The dates from `first_date` to `until`, one a row. */
  readonly dates: Sql;
  readonly profile: (lake: ViewedLake) => Sql;
}

const SCHEMA = 'vessels';
const schemaOf = ({ schema = SCHEMA }: ViewedLake) => schema;

export const ADAPTERS = {
  dbt: {
    dialect: duckdb,
    package: sql`dbt-duckdb`,
    setup: () => [],
    receipts: (lake) => viewBody(duckdb, { ...lake, schema: undefined }),
    // The file of the lake is always there: a pattern that finds nothing alone is an error.
    notes: ({ url }) =>
      sql`SELECT TRY(decode(content)) AS json FROM read_blob([${duckdb.literal(`${url.replace(/[[*?]/g, '[$&]')}/_notes/*/*/*.json`)}, ${duckdb.literal(`${url}/_lake.json`)}])`,
    dates: sql`CAST(unnest(generate_series(first_date, until, INTERVAL 1 DAY)) AS DATE)`,
    profile: ({ url, layout }) => {
      const extensions = [
        ...(layout === 'delta' ? [sql`delta`] : []),
        ...(url.startsWith('s3:') ? [sql`httpfs`] : []),
      ];
      const secret = sql`\n      secrets: [{ type: s3, provider: credential_chain }]`;
      return sql`      type: duckdb
      path: vessel_lake.duckdb
      settings: { TimeZone: UTC }
      extensions: [${joinSql(extensions)}]${url.startsWith('s3:') ? secret : sql``}`;
    },
  },
  'dbt-spark': {
    dialect: spark,
    package: sql`dbt-spark[session]`,
    setup: (lake) => {
      const own = { ...lake, schema: schemaOf(lake) };
      const tables = [
        ...own.sources.map((source) => source.relation),
        ...(hasReceipts(lake) ? ['receipt_files', 'note_files'] : []),
      ];
      const files = spark.literal(`${lake.url}/{_lake.json,_notes/*/*/*.json}`);
      return [
        sql`CREATE SCHEMA IF NOT EXISTS ${spark.quote(own.schema)}`,
        ...own.sources.flatMap((source) => spark.source(own, source)),
        ...(hasReceipts(lake)
          ? [
              ...spark.receipts(own).slice(0, -1),
              sql`CREATE TABLE IF NOT EXISTS ${relation(spark, own, 'note_files')} (${spark.quote('value')} STRING) USING TEXT OPTIONS (path ${files}, wholetext 'true')`,
            ]
          : []),
        ...tables.map((table) => sql`REFRESH TABLE ${relation(spark, own, table)}`),
      ];
    },
    receipts: (lake) => viewBody(spark, { ...lake, schema: schemaOf(lake) }),
    notes: (lake) =>
      sql`SELECT value AS json FROM ${relation(spark, { schema: schemaOf(lake) }, 'note_files')}`,
    dates: sql`explode(sequence(first_date, until, INTERVAL 1 DAY))`,
    profile: ({ layout }) => sql`      type: spark
      method: session
      host: none
      schema: vessel_lake
      server_side_parameters:
        spark.sql.session.timeZone: UTC${
          layout === 'delta'
            ? sql`
        spark.jars.packages: io.delta:delta-spark_2.13:4.0.0
        spark.sql.extensions: io.delta.sql.DeltaSparkSessionExtension
        spark.sql.catalog.spark_catalog: org.apache.spark.sql.delta.catalog.DeltaCatalog`
            : sql``
        }`,
  },
} as const satisfies Record<string, Adapter>;
export type AdapterName = keyof typeof ADAPTERS;

const hasReceipts = ({ receiptJobs }: ViewedLake) => receiptJobs.length > 0;

/** The query of the view `receipts`, which is the last of the statements that make it. */
function viewBody(d: Dialect, lake: ViewedLake): Sql {
  const statement = d.receipts(lake).at(-1)!;
  return sqlAfter(sql`${d.createView} ${relation(d, lake, 'receipts')} AS\n`, statement);
}

/** The files of a project by their paths in its folder. */
export function dbtProject(
  name: AdapterName,
  lake: ViewedLake,
  wide: WideOptions | undefined,
): ReadonlyMap<string, Sql> {
  const adapter: Adapter = ADAPTERS[name];
  const own = adapter.dialect;
  const isSource = (of: string) => lake.sources.some((source) => source.relation === of);
  const d: Dialect = {
    ...own,
    relation: (of) =>
      isSource(of) ? sql`{{ source('lake', ${duckdb.literal(of)}) }}` : sql`{{ ref(${duckdb.literal(of)}) }}`,
  };
  const bodies = new Map<string, Sql>(viewsOf(d, lake, wide).map((view) => [view.name, view.body]));
  if (hasReceipts(lake)) {
    bodies.set('receipts', adapter.receipts(lake));
    bodies.set('notes', notesBody(d, adapter.notes(lake)));
    bodies.set('vessel_days', vesselDaysBody(d, adapter.dates));
  }
  const models = [...bodies].map(
    ([model, body]) => [`models/${model}.sql`, sql`${comment(VIEWS[model]!)}${body}\n`] as const,
  );
  return new Map([
    ['dbt_project.yml', projectFile(adapter, adapter.setup(lake))],
    ['profiles.yml', sql`vessel_lake:\n  target: dev\n  outputs:\n    dev:\n${adapter.profile(lake)}\n`],
    ['macros/say_vessel_days.sql', SAY_VESSEL_DAYS],
    ['models/sources.yml', sourcesFile(lake, name === 'dbt')],
    ['models/models.yml', modelsFile([...bodies.keys()])],
    ...models,
    ...(hasReceipts(lake) ? testFiles(d, lake) : []),
  ]);
}

function projectFile(adapter: Adapter, setup: readonly Sql[]): Sql {
  const hooks = setup.map((statement) => sql`  - ${yamlText(statement)}\n`);
  return sql`# Written by vessel-export views, for dbt with the adapter ${adapter.package}.
name: vessel_lake
version: "1.0"
profile: vessel_lake
models: { +materialized: view }
vars:
  # A vessel-day is late so many hours after it ended; days of vessels that have left are not waited for.
  due_after_hours: 36
  left_vessels: []
  # An instant such as 2026-01-07T12:00:00 that counts as now; empty: the clock.
  as_of: ""
${setup.length === 0 ? sql`` : sql`on-run-start:\n${joinSql(hooks, sql``)}`}on-run-end:
  - "{{ say_vessel_days(results) }}"
`;
}

function sourcesFile(lake: ViewedLake, isExternal: boolean): Sql {
  const schema = isExternal ? sql`` : sql`    schema: ${yamlText(schemaOf(lake))}\n`;
  const tables = lake.sources.map((source) => {
    const description = sql`      - name: ${yamlText(source.relation)}\n        description: ${yamlText(`job ${source.job}: ${source.dataset}`)}\n`;
    if (!isExternal) return description;
    // Of statistics, columns that no file has are null.
    const rows = jobRows(lake, source.job, source.dataset);
    const isWhole = source.dataset !== 'statistics';
    const location = isWhole ? rows : sql`(${duckdbColumns(source, rows)})`;
    return sql`${description}        config:\n          meta:\n            external_location: ${yamlText(location)}\n`;
  });
  return sql`version: 2\nsources:\n  - name: lake\n${schema}    tables:\n${joinSql(tables, sql``)}`;
}

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  receipts: ['job', 'vessel', 'date', 'dataset', 'rows', 'proof', 'finished_at'],
  vessel_days: ['job', 'vessel', 'date', 'state'],
  coverage: ['job', 'vessel', 'days', 'total_rows'],
};

function modelsFile(models: readonly string[]): Sql {
  const items = models.map((model) => {
    const columns = NEEDED[model]?.map((column) => {
      const proofs = sql`, { accepted_values: { arguments: { values: [exact, at-least, unproven] } } }`;
      return sql`      - { name: ${yamlText(column)}, data_tests: [not_null${column === 'proof' ? proofs : sql``}] }\n`;
    });
    return sql`  - name: ${yamlText(model)}\n    description: ${yamlText(VIEWS[model]!)}\n${columns ? sql`    columns:\n${joinSql(columns, sql``)}` : sql``}`;
  });
  return sql`version: 2\nmodels:\n${joinSql(items, sql``)}`;
}

function notesBody(d: Dialect, files: Sql): Sql {
  const json = sql`json`;
  const members = ['job', 'vessel', 'date', 'state', 'code', 'message', 'at'];
  const items = members.map((name): SelectItem => {
    const type = name === 'date' ? d.types.date : name === 'at' ? d.types.timestamp : d.types.text;
    return [sql`CAST(${d.json(json, [name])} AS ${type})`, name];
  });
  return sql`SELECT\n${selectList(d, items)}\nFROM (\n  ${files}\n) f\nWHERE ${d.json(json, ['noteVersion'])} = '1'`;
}

function vesselDaysBody(d: Dialect, dates: Sql): Sql {
  const q = d.quote;
  const ref = (name: string) => relation(d, { schema: undefined }, name);
  const [date, rows, at] = [q('date'), q('rows'), q('at')];
  return sql`{% set now = modules.datetime.datetime.fromisoformat(var('as_of')) if var('as_of') else modules.datetime.datetime.now(modules.pytz.utc) %}
{% set due = (now - modules.datetime.timedelta(days=1, hours=var('due_after_hours'))).strftime('%Y-%m-%d') %}
WITH covered AS (
  SELECT job, vessel, min(${date}) AS first_date, max(${date}) AS last_date
  FROM ${ref('receipts')}
  WHERE dataset <> 'metadata'
  GROUP BY job, vessel
), bounds AS (
  SELECT job, vessel, first_date,
    {% if var('left_vessels') %}CASE WHEN vessel IN ('{{ var('left_vessels') | join("', '") }}') THEN last_date ELSE greatest(last_date, DATE '{{ due }}') END{% else %}greatest(last_date, DATE '{{ due }}'){% endif %} AS until
  FROM covered
), expected AS (
  SELECT job, vessel, ${dates} AS ${date} FROM bounds
  UNION
  SELECT job, vessel, ${date} FROM ${ref('notes')}
)
SELECT e.job, e.vessel, e.${date},
  CASE
    WHEN n.state IS NOT NULL THEN n.state
    WHEN r.job IS NOT NULL THEN 'published'
    WHEN e.${date} > c.last_date THEN 'late'
    ELSE 'missing'
  END AS state,
  r.${rows}, r.proof, r.finished_at, n.code, n.message
FROM expected e
LEFT JOIN covered c ON c.job = e.job AND c.vessel = e.vessel
LEFT JOIN ${ref('receipts')} r ON r.job = e.job AND r.vessel = e.vessel AND r.${date} = e.${date}
LEFT JOIN ${ref('notes')} n ON n.job = e.job AND n.vessel = e.vessel AND n.${date} = e.${date} AND (r.finished_at IS NULL OR n.${at} >= r.finished_at)`;
}

/** Of each test the vessel-days that fail it, as job, vessel, date and reason. */
function testFiles(d: Dialect, lake: ViewedLake): [string, Sql][] {
  const [date, rows] = [d.quote('date'), d.quote('rows')];
  const ref = (name: string) => relation(d, { schema: undefined }, name);
  const ofState = (state: Sql, severity = sql`error`) =>
    sql`{{ config(severity='${severity}', tags=['vessel_days']) }}\nSELECT job, vessel, ${date}, CASE WHEN message IS NULL THEN state ELSE concat(state, ': ', message) END AS reason\nFROM ${ref('vessel_days')}\nWHERE state IN (${state})\n`;
  const counted = lake.sources.map(
    (source) =>
      sql`SELECT ${d.literal(source.job)} AS job, vessel, ${date}, count(*) AS found FROM ${ref(source.relation)} GROUP BY vessel, ${date}`,
  );
  return [
    ['tests/no_vessel_day_is_missing.sql', ofState(sql`'missing'`)],
    ['tests/no_vessel_day_is_refused.sql', ofState(sql`'refused', 'failed'`)],
    ['tests/no_vessel_day_is_late.sql', ofState(sql`'late'`)],
    ['tests/no_vessel_day_waits.sql', ofState(sql`'waiting'`, sql`warn`)],
    [
      'tests/rows_are_those_of_the_receipts.sql',
      sql`{{ config(tags=['vessel_days']) }}
SELECT coalesce(r.job, f.job) AS job, coalesce(r.vessel, f.vessel) AS vessel, coalesce(r.${date}, f.${date}) AS ${date},
  concat('the receipt has ', coalesce(CAST(r.${rows} AS ${d.types.text}), 'no'), ' rows, the lake ', coalesce(CAST(f.found AS ${d.types.text}), 'none')) AS reason
FROM (
  ${joinSql(counted, sql`\n  UNION ALL\n  `)}
) f
FULL JOIN (SELECT * FROM ${ref('receipts')} WHERE job IN (${joinSql(lake.sources.map(({ job }) => d.literal(job)))})) r
  ON r.job = f.job AND r.vessel = f.vessel AND r.${date} = f.${date}
WHERE coalesce(r.${rows}, -1) <> coalesce(f.found, 0)
`,
    ],
  ];
}
