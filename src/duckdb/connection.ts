/** The one place where SQL is handed to DuckDB: as `Sql`, one statement at a time, and one that reads where rows are wanted. */
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

export type { DuckDBResult, DuckDBValue };

/** Values of the parameters $1, $2, … */
type Values = DuckDBValue[];

/** Throws DuckDB's errors. */
export class SqlConnection {
  readonly #connection: DuckDBConnection;
  readonly #reading: ReadonlySet<StatementType>;

  /** `reading`: types of statements that change nothing. */
  constructor(connection: DuckDBConnection, reading: ReadonlySet<StatementType>) {
    this.#connection = connection;
    this.#reading = reading;
  }

  async run(statement: Sql, values: Values = []): Promise<void> {
    await this.#prepared(statement, values, (prepared) => prepared.run());
  }

  /** All rows of a statement that reads. */
  async rows(statement: Sql, values: Values = []): Promise<DuckDBValue[][]> {
    return (await this.#read(statement, values, (prepared) => prepared.runAndReadAll())).getRows();
  }

  /** The same as objects by the names of their columns. */
  async rowObjects(statement: Sql): Promise<Record<string, DuckDBValue>[]> {
    return (await this.#read(statement, [], (prepared) => prepared.runAndReadAll())).getRowObjects();
  }

  /** Rows as they come; they end when the connection runs anything else. */
  stream(statement: Sql, values: Values = []): Promise<DuckDBResult> {
    return this.#read(statement, values, (prepared) => prepared.stream());
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

  #read<T>(
    statement: Sql,
    values: Values,
    use: (prepared: DuckDBPreparedStatement) => Promise<T>,
  ): Promise<T> {
    return this.#prepared(statement, values, (prepared) => {
      // What DuckDB itself says of what it would run, however that was written.
      if (this.#reading.has(prepared.statementType)) return use(prepared);
      throw new ConfigError('sql', 'found a statement that does more than read, expected a query');
    });
  }

  /** DuckDB prepares one statement, and refuses a text of several. */
  async #prepared<T>(
    statement: Sql,
    values: Values,
    use: (prepared: DuckDBPreparedStatement) => Promise<T>,
  ): Promise<T> {
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
