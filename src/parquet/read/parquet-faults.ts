/** What may be wrong with a Parquet body, as DataErrors. */
import { DataError } from '../../core/errors.ts';

export const PARQUET_ADVICE =
  'request the time slice again; if the error remains, report it to the operator of the service or use transport: ndjson';

export function badParquet(where: string, found: string, expected: string): DataError {
  return new DataError(
    'bad-parquet',
    `${where} of the Parquet body: found ${found}, expected ${expected}; ${PARQUET_ADVICE}`,
  );
}

/** The page's bytes are not those that its writer has seen: asked for again, they may be. */
export function damagedPage(where: string, bytes: number, found: number, expected: number): DataError {
  const [seen, said] = [found, expected].map((crc) => crc.toString(16).padStart(8, '0'));
  return new DataError(
    'body-damaged',
    `${where} of the Parquet body: found CRC-32 ${seen} of its ${bytes} bytes, expected ${said}, as its header says; ${PARQUET_ADVICE}`,
  );
}

/** More than is decoded at once. The code is that of any answer that is too large: the time slice is asked for in halves. */
export function parquetTooLarge(where: string, found: number, allowed: number, what: string): DataError {
  return new DataError(
    'page-too-large',
    `${where} of the Parquet body: found ${found} ${what}, allowed are ${allowed}; a shorter time slice may be smaller, otherwise report it to the operator of the service or use transport: ndjson`,
  );
}
