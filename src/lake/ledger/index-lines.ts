/**
 * The index as lakes have it from before its columns, `_index/<job>/<month>.ndjson.gz`: a line is the receipt's own
 * JSON with one member more, `listed`. It is read as long as there is no other, and written no more.
 */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Receipt } from '../../core/model/index.ts';
import { shortName } from '../../core/model/index.ts';
import type { IndexRow } from './indexed-receipt.ts';
import { toIndexRow } from './indexed-receipt.ts';
import type { ReceiptVersion } from './ledger.ts';
import { checkedReceipt } from './ledger.ts';

type IndexLine = Receipt & { readonly listed: ReceiptVersion };

/** Its rows. Throws Error for bytes that are damaged or of another job. */
export async function readIndexLines(job: string, bytes: Uint8Array): Promise<IndexRow[]> {
  const rows: IndexRow[] = [];
  for await (const text of linesOf(bytes)) {
    const line = parseLine(text, job);
    rows.push(toIndexRow(line, line.listed));
  }
  return rows;
}

function parseLine(text: string, job: string): IndexLine {
  const line = JSON.parse(text) as Partial<IndexLine>;
  if (line.receiptVersion !== 1 || line.job !== job || typeof line.listed?.tag !== 'string')
    throw new Error(`'${shortName(text)}' is no line of it`);
  checkedReceipt(line, `a line of ${job}`);
  return line as IndexLine;
}

async function* linesOf(gzip: Uint8Array): AsyncGenerator<string> {
  // In slices: a stream decompresses whatever it is given before anyone takes a line.
  const slices = function* () {
    for (let at = 0; at < gzip.length; at += 65_536) yield gzip.subarray(at, at + 65_536);
  };
  const text = Readable.from(slices()).pipe(createGunzip()).setEncoding('utf8');
  let rest = '';
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') throw new Error('the last line is not whole');
}
