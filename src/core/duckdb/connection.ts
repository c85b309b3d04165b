/** The one place where SQL is handed to DuckDB: as `Sql`, one statement at a time, and, where somebody typed it, as a query. */
import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBResult,
  DuckDBValue,
  StatementType,
} from '@duckdb/node-api';
import { ConfigError } from '../errors.ts';
import { type Sql, sql } from './sql-text.ts';

export type { DuckDBResult, DuckDBValue };

type Values = DuckDBValue[];

/** Throws DuckDB's errors, and ConfigError `sql` for what is not one statement. */
export class SqlConnection {
  readonly #connection: DuckDBConnection;
  readonly #select: StatementType;

  /** `select`: the type of statements that give rows and change nothing. */
  constructor(connection: DuckDBConnection, select: StatementType) {
    this.#connection = connection;
    this.#select = select;
  }

  async run(statement: Sql, values?: Values): Promise<void> {
    await this.#expectOne(statement);
    await this.#connection.run(statement, values);
  }

  async rows(statement: Sql, values?: Values): Promise<DuckDBValue[][]> {
    await this.#expectOne(statement);
    return (await this.#connection.runAndReadAll(statement, values)).getRows();
  }

  async rowObjects(statement: Sql): Promise<Record<string, DuckDBValue>[]> {
    await this.#expectOne(statement);
    return (await this.#connection.runAndReadAll(statement)).getRowObjects();
  }

  /** Rows as they come; they end when the connection runs anything else. */
  async stream(statement: Sql, values?: Values): Promise<DuckDBResult> {
    await this.#expectOne(statement);
    return await this.#connection.stream(statement, values);
  }

  /** The same of what somebody typed, or, with `explain` before it, of what DuckDB says of that. Throws as `expectQuery`. */
  async streamTyped(query: Sql, explain?: Sql): Promise<DuckDBResult> {
    await this.expectQuery(query);
    return await this.stream(explain === undefined ? query : sql`${explain} ${query}`);
  }

  /** Throws ConfigError `sql` unless DuckDB, having prepared it, says that it only reads. That costs as much as reading a small object. */
  async expectQuery(statement: Sql): Promise<void> {
    await this.#expectOne(statement);
    const prepared = await this.#connection.prepare(statement);
    const isQuery = prepared.statementType === this.#select;
    prepared.destroySync();
    if (!isQuery)
      throw new ConfigError('sql', 'found a statement that does more than read, expected a query');
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

  async #expectOne(statement: Sql): Promise<void> {
    // To DuckDB a NUL is the end of the text, and it would run whatever else there is.
    if (statement.includes('\0')) throw new ConfigError('sql', 'found a NUL in SQL, expected text');
    const { count } = await this.#connection.extractStatements(statement);
    if (count !== 1) throw new ConfigError('sql', `found ${count} statements of SQL, expected one`);
  }
}
