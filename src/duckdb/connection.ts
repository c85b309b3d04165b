/** The one place where SQL is handed to DuckDB: as `Sql`, one statement at a time, and a query where rows are wanted. */
import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBValue,
  StatementType,
} from '@duckdb/node-api';
import { ConfigError } from '../errors.ts';
import type { Sql } from '../sql-text.ts';
import { sql } from '../sql-text.ts';

export type { DuckDBResult, DuckDBValue };

/** Values of the parameters $1, $2, … */
type Values = DuckDBValue[];
type Use<T> = (prepared: DuckDBPreparedStatement) => Promise<T>;

/** Throws DuckDB's errors. */
export class SqlConnection {
  readonly #connection: DuckDBConnection;
  readonly #select: StatementType;

  /** `select`: the type of statements that give rows and change nothing. */
  constructor(connection: DuckDBConnection, select: StatementType) {
    this.#connection = connection;
    this.#select = select;
  }

  async run(statement: Sql, values: Values = []): Promise<void> {
    await this.#prepared(statement, values, (prepared) => prepared.run());
  }

  /** All rows of a query. `explain`: what stands before a query that is to be explained. */
  async rows(query: Sql, values: Values = [], explain?: Sql): Promise<DuckDBValue[][]> {
    return (await this.#read(query, values, explain, (prepared) => prepared.runAndReadAll())).getRows();
  }

  /** The same as objects by the names of their columns. */
  async rowObjects(query: Sql): Promise<Record<string, DuckDBValue>[]> {
    const all = await this.#read(query, [], undefined, (prepared) => prepared.runAndReadAll());
    return all.getRowObjects();
  }

  /** Rows as they come; they end when the connection runs anything else. */
  stream(query: Sql, values: Values = [], explain?: Sql): Promise<DuckDBResult> {
    return this.#read(query, values, explain, (prepared) => prepared.stream());
  }

  createAppender(table: string): Promise<DuckDBAppender> {
    return this.#connection.createAppender(table);
  }

  interrupt(): void {
    this.#connection.interrupt();
  }

  closeSync(): void {
    this.#connection.closeSync();
  }

  #read<T>(query: Sql, values: Values, explain: Sql | undefined, use: Use<T>): Promise<T> {
    return this.#prepared(query, values, (prepared) => {
      // What DuckDB itself says of what it would run, however that was written.
      if (prepared.statementType !== this.#select)
        throw new ConfigError('sql', 'found a statement that does more than read, expected a query');
      return explain === undefined ? use(prepared) : this.#prepared(sql`${explain} ${query}`, values, use);
    });
  }

  /** DuckDB prepares one statement, and refuses a text of several. */
  async #prepared<T>(statement: Sql, values: Values, use: Use<T>): Promise<T> {
    // To it a NUL is the end of the text.
    if (statement.includes('\0')) throw new ConfigError('sql', 'found a NUL in SQL, expected text');
    const prepared = await this.#connection.prepare(statement);
    try {
      if (values.length > 0) prepared.bind(values);
      return await use(prepared);
    } finally {
      prepared.destroySync();
    }
  }
}
