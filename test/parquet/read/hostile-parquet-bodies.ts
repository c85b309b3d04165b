/** Parquet bodies that a hostile or broken service may send, with what must be said of each. */
import type { Codec, ForgedColumn } from './forged-parquet.ts';
import {
  compressed,
  constant,
  constantColumns,
  ENCODING,
  forgeParquet,
  levels,
  NAMES,
  nulls,
  plain,
  varint,
  withFooter,
} from './forged-parquet.ts';

interface HostileBody {
  readonly name: string;
  readonly body: () => Buffer;
  readonly code: string;
  readonly message: RegExp;
}

const BILLION = 1_000_000_000;
const GIB = 2 ** 30;
/** The rows of most bodies: what is wrong with them is elsewhere. */
const ROWS = 1_000;

/** A sound body but for some columns. */
function bodyWith(columns: Partial<Record<(typeof NAMES)[number], ForgedColumn>>, rows = ROWS): Buffer {
  return forgeParquet({ rows, columns: { ...constantColumns(rows), ...columns } });
}

function longs(bytes: Uint8Array, encoding = ENCODING.plain, values = ROWS): ForgedColumn {
  return { pages: [{ kind: 'data', values, encoding, bytes: Buffer.concat([levels(values, 1), bytes]) }] };
}

function jsonOnly(rows: number, json: ForgedColumn): Buffer {
  return bodyWith({ long_value: nulls(rows), json_value: json }, rows);
}

/** Names of strings: their bytes with the length before. */
const text = (name: string) => [name.length, ...Buffer.from(name)];
/** A footer that begins with a list of structs, which is its field 2, of a size that is claimed. */
const schemaOf = (size: number) => Buffer.from([0x29, 0xfc, ...varint(size)]);

const BOMBS: HostileBody[] = (['SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4_RAW'] satisfies Codec[]).flatMap(
  (codec) => [
    {
      name: `a ${codec} page of 40 MB that says 8 kB`,
      body: () => bodyWith({ long_value: compressed(codec, ROWS, Buffer.alloc(40_000_000), 8_000) }),
      code: 'bad-parquet',
      message: /page 1 of column 'long_value' in row group 1 .*found .*(8000|more bytes)/,
    },
    {
      name: `a ${codec} page of 40 MB that says so`,
      body: () => bodyWith({ long_value: compressed(codec, ROWS, Buffer.alloc(40_000_000)) }),
      code: 'page-too-large',
      message: /found 40\d{6} bytes in pages that are open at once, allowed are 33554432;/,
    },
  ],
);

export const HOSTILE_BODIES: readonly HostileBody[] = [
  {
    name: 'a thousand million rows in some hundred bytes',
    body: () => forgeParquet({ rows: BILLION, columns: constantColumns(BILLION) }),
    code: 'page-too-large',
    message: /rows up to row group 1 .*found 1000000000 rows, allowed are 4194304;/,
  },
  {
    name: 'rows beyond 2^53',
    body: () => withFooterOf({ num_rows: 2n ** 62n }),
    code: 'page-too-large',
    message: /found 4611686018427388000 rows/,
  },
  {
    name: 'a page of more values than its row group has rows',
    body: () =>
      bodyWith({ long_value: { pages: [{ kind: 'data', values: BILLION, bytes: levels(BILLION, 1) }] } }),
    code: 'bad-parquet',
    message: /found 1000000000 values, and 1000 left in the row group/,
  },
  {
    name: 'a dictionary of a thousand million entries',
    body: () => bodyWith({ id: { pages: [{ kind: 'dictionary', values: BILLION, bytes: plain('a') }] } }),
    code: 'page-too-large',
    message: /bytes in pages that are open/,
  },
  {
    name: 'a dictionary of more entries than its bytes hold',
    body: () => bodyWith({ id: { pages: [{ kind: 'dictionary', values: 9_000, bytes: plain('a') }] } }),
    code: 'bad-parquet',
    message: /found 9000 entries in 5 bytes/,
  },
  {
    name: 'a page that claims 2 GiB',
    body: () => {
      const [page] = longs(plain(1n)).pages;
      return bodyWith({
        id: {
          codec: 'ZSTD',
          pages: [{ ...page!, size: 2 * GIB - 1 }],
          claims: { total_uncompressed_size: 10n },
        },
      });
    },
    code: 'page-too-large',
    message: /found 2147483666 bytes uncompressed up to there, allowed are 536870912/,
  },
  ...BOMBS,
  {
    name: 'pages that come to 2 GiB one after the other',
    body: () => {
      const { pages } = compressed('ZSTD', 0, Buffer.alloc(30_000_000));
      const claims = { total_uncompressed_size: 100n };
      return bodyWith({
        long_value: { codec: 'ZSTD', pages: Array.from({ length: 70 }, () => pages[0]!), claims },
      });
    },
    code: 'page-too-large',
    message: /bytes uncompressed up to there, allowed are 536870912/,
  },
  {
    name: 'a zstd frame that asks for a window of 2 GiB',
    body: () => {
      const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]);
      return bodyWith({
        long_value: { codec: 'ZSTD', pages: [{ kind: 'data', values: ROWS, bytes: frame, size: 9_000 }] },
      });
    },
    code: 'bad-parquet',
    message: /found bytes that are not ZSTD/,
  },
  {
    name: 'a long text in the dictionary that every row repeats',
    body: () => {
      const rows = 600;
      const times = Array.from({ length: rows }, (_, row) => BigInt(1_767_571_200_000 + row));
      const columns = { ...constantColumns(rows), timestamp: longs(plain(...times), ENCODING.plain, rows) };
      const json_value = constant(rows, `"${'x'.repeat(1_000_000)}"`);
      return forgeParquet({ rows, columns: { ...columns, long_value: nulls(rows), json_value } });
    },
    code: 'page-too-large',
    message: /column 'json_value' .*bytes of text, allowed are 536870912/,
  },
  {
    name: 'a long text at one timestamp in every row',
    body: () => jsonOnly(1_000, constant(1_000, `"${'x'.repeat(1_000_000)}"`)),
    code: 'page-too-large',
    message: /found 34\d+ bytes of text of one timestamp, allowed are 33554432/,
  },
  {
    name: 'a million rows of one timestamp, which no row group may part',
    body: () => forgeParquet({ rows: 1_000_000, columns: constantColumns(1_000_000) }),
    code: 'page-too-large',
    message: /2026-01-05T00:00:00.000000Z .*found 131073 rows of that timestamp, allowed are 131072/,
  },
  {
    name: 'a page of more rows than are decoded at once',
    body: () => forgeParquet({ rows: 2_000_000, columns: constantColumns(2_000_000) }),
    code: 'page-too-large',
    message: /page 2 of column 'timestamp' .*found 2000000 rows in a page, allowed are 1048576/,
  },
  {
    name: 'texts that grow by prefixes',
    body: () => {
      // Every text is the one before and 4 kB more: 4 MB on average.
      const deltas = (first: number, more: number) =>
        Buffer.from([
          ...varint(1024),
          ...varint(1),
          ...varint(ROWS),
          ...varint(first * 2),
          ...varint(more * 2),
          0,
        ]);
      const bytes = Buffer.concat([
        levels(ROWS, 1),
        deltas(0, 4_096),
        deltas(4_096, 0),
        Buffer.alloc(ROWS * 4_096, 0x31),
      ]);
      return jsonOnly(ROWS, {
        pages: [{ kind: 'data', values: ROWS, encoding: ENCODING.deltaBytes, bytes }],
      });
    },
    code: 'page-too-large',
    message: /texts by prefixes .*found 67\d{6} bytes in a page or more, allowed are 67108864/,
  },
  {
    name: 'deltas that claim a thousand million values',
    body: () =>
      bodyWith({
        long_value: longs(
          Buffer.from([...varint(128), 4, ...varint(BILLION), 0, 0, 0, 0, 0, 0]),
          ENCODING.delta,
        ),
      }),
    code: 'bad-parquet',
    message: /found 1000000000 deltas for 1000 values/,
  },
  {
    name: 'deltas in blocks of no pieces',
    body: () =>
      bodyWith({ long_value: longs(Buffer.from([...varint(128), 0, ...varint(ROWS), 0]), ENCODING.delta) }),
    code: 'bad-parquet',
    message: /delta blocks of 128 values in 0 pieces/,
  },
  {
    name: 'deltas of 200 bits',
    body: () =>
      bodyWith({
        long_value: longs(
          Buffer.from([...varint(128), 4, ...varint(ROWS), 0, 0, 200, 200, 200, 200]),
          ENCODING.delta,
        ),
      }),
    code: 'bad-parquet',
    message: /deltas of 200 bits/,
  },
  {
    name: 'pages without values, without end',
    body: () => {
      const page = { kind: 'data', values: 0, bytes: levels(0, 1) } as const;
      return bodyWith({ long_value: { pages: Array.from({ length: 70_000 }, () => page) } });
    },
    code: 'page-too-large',
    message: /found 65537 pages up to there, allowed are 65536/,
  },
  {
    name: 'an entry that the dictionary has not',
    body: () => {
      const bytes = Buffer.concat([
        levels(ROWS, 1),
        Buffer.from([24, ...varint(ROWS * 2), 0xff, 0xff, 0xff]),
      ]);
      const [dictionary] = constant(ROWS, 5n).pages;
      return bodyWith({
        long_value: { pages: [dictionary!, { kind: 'data', values: ROWS, encoding: 8, bytes }] },
      });
    },
    code: 'bad-parquet',
    message: /entry 16777215 of a dictionary of 1/,
  },
  {
    name: 'indexes of 200 bits',
    body: () => {
      const [dictionary] = constant(ROWS, 5n).pages;
      const bytes = Buffer.concat([levels(ROWS, 1), Buffer.from([200, 3])]);
      return bodyWith({
        long_value: { pages: [dictionary!, { kind: 'data', values: ROWS, encoding: 8, bytes }] },
      });
    },
    code: 'bad-parquet',
    message: /indexes of 200 bits/,
  },
  {
    name: 'an id of a megabyte',
    body: () => bodyWith({ id: constant(ROWS, 'x'.repeat(1_000_000)) }),
    code: 'bad-id',
    message: /^row 1 of the Parquet body: found 'x+…', expected an id of at most 4096 bytes without control/,
  },
  {
    name: 'a chunk behind the end of the body',
    body: () => bodyWith({ id: { ...constant(ROWS, 'a'), claims: { data_page_offset: 5_000_000_000n } } }),
    code: 'bad-parquet',
    message: /found bytes 5000000000 to \d+, expected a place between 4 and \d+/,
  },
  {
    name: 'a chunk before the beginning',
    body: () => bodyWith({ id: { ...constant(ROWS, 'a'), claims: { data_page_offset: -100n } } }),
    code: 'bad-parquet',
    message: /found bytes -100 to/,
  },
  {
    name: 'row groups that share their bytes',
    body: () => forgeParquet({ rows: ROWS, columns: constantColumns(ROWS), groups: 2 }),
    code: 'bad-parquet',
    message: /column chunks that overlap/,
  },
  {
    name: 'more than eight thousand row groups',
    body: () => forgeParquet({ rows: 1, columns: constantColumns(1), groups: 8_200 }),
    code: 'page-too-large',
    message: /found 8193 row groups or more, allowed are 8192/,
  },
  {
    name: 'other rows in the footer than in its row groups',
    body: () => forgeParquet({ rows: ROWS, columns: constantColumns(ROWS), fileRows: 999 }),
    code: 'bad-parquet',
    message: /found 999 rows, and 1000 in the row groups/,
  },
  {
    name: 'other values in a column than rows in its row group',
    body: () => bodyWith({ id: { ...constant(ROWS, 'a'), claims: { num_values: BigInt(BILLION) } } }),
    code: 'bad-parquet',
    message: /found 1000000000 values, expected 1000, one a row/,
  },
  {
    name: 'a chunk that claims a terabyte uncompressed',
    body: () => bodyWith({ id: { ...constant(ROWS, 'a'), claims: { total_uncompressed_size: 2n ** 40n } } }),
    code: 'page-too-large',
    message: /found 1099511\d+ bytes uncompressed up to there/,
  },
  {
    name: 'five thousand columns',
    body: () => {
      const leaves = Array.from({ length: 5_000 }, (_, index) => ({
        type: 'INT64',
        name: `c${index}`,
        repetition_type: 'OPTIONAL',
      }));
      return withSchema([{ name: 'root', num_children: leaves.length }, ...leaves]);
    },
    code: 'page-too-large',
    message: /columns or more, allowed are 1000/,
  },
  {
    name: 'an id in a group',
    body: () =>
      withSchema([
        { name: 'root', num_children: 5 },
        { type: 'INT64', name: 'timestamp', repetition_type: 'OPTIONAL' },
        { name: 'ids', num_children: 1, repetition_type: 'OPTIONAL' },
        { type: 'BYTE_ARRAY', name: 'id', repetition_type: 'OPTIONAL' },
        ...['long_value', 'double_value', 'json_value'].map((name) => ({
          type: 'INT64',
          name,
          repetition_type: 'OPTIONAL',
        })),
      ]),
    code: 'bad-parquet',
    message: /Parquet column 'id': found no such column/,
  },
  {
    name: 'a list of ids',
    body: () =>
      withSchema([
        { name: 'root', num_children: 5 },
        ...NAMES.map((name) => ({
          type: name === 'id' ? 'BYTE_ARRAY' : 'INT64',
          name,
          repetition_type: 'REPEATED',
        })),
      ]),
    code: 'bad-parquet',
    message: /found a repeated column, or two of that name/,
  },
  {
    name: 'groups that claim more columns than there are',
    body: () => {
      const root = [0x55, ...varint(2 * BILLION), 0];
      const leaf = [0x15, 4, 0x38, ...text('timestamp'), 0];
      return withFooter(Buffer.from([0x29, 0x2c, ...root, ...leaf, 0]));
    },
    code: 'bad-parquet',
    message: /fewer columns than the groups claim/,
  },
  {
    name: 'a footer that is longer than the body',
    body: () => withFooter(Buffer.from([0]), 2 ** 32 - 1),
    code: 'bad-parquet',
    message: /found a length of 4294967295 bytes, expected at most 1, as there are/,
  },
  {
    name: 'a footer of no bytes',
    body: () => withFooter(Buffer.alloc(0)),
    code: 'bad-parquet',
    message: /found its end inside a value/,
  },
  {
    name: 'a list of two thousand million in the footer',
    body: () => withFooter(schemaOf(2 ** 31)),
    code: 'bad-parquet',
    message: /found a list of 2147483648, expected at most the 0 bytes that are left/,
  },
  {
    name: 'a list of booleans, which take no bytes as fields',
    body: () => withFooter(Buffer.from([0xf9, 0xf1, ...varint(2 ** 31), 0])),
    code: 'bad-parquet',
    message: /a list of 2147483648/,
  },
  {
    name: 'structures a hundred thousand deep',
    body: () => withFooter(Buffer.alloc(100_000, 0xfc)),
    code: 'bad-parquet',
    message: /structures 25 deep, expected at most 24/,
  },
  {
    name: 'lists a hundred thousand deep',
    body: () => withFooter(Buffer.concat([Buffer.from([0xf9]), Buffer.alloc(100_000, 0x19)])),
    code: 'bad-parquet',
    message: /structures 25 deep, expected at most 24/,
  },
  {
    name: 'a number of a million bytes',
    body: () => withFooter(Buffer.concat([Buffer.from([0x16]), Buffer.alloc(1_000_000, 0xff)])),
    code: 'bad-parquet',
    message: /a number of more than ten bytes/,
  },
  {
    name: 'a name of two thousand million bytes',
    body: () => withFooter(Buffer.from([0x29, 0x1c, 0x48, ...varint(2 ** 31), ...text('id')])),
    code: 'bad-parquet',
    message: /a value of 2147483648 bytes/,
  },
];

function withSchema(schema: Record<string, unknown>[]): Buffer {
  return forgeParquet({ rows: ROWS, columns: constantColumns(ROWS), schema });
}

function withFooterOf({ num_rows: rows }: { num_rows: bigint }): Buffer {
  return forgeParquet({ rows: Number(rows), columns: constantColumns(ROWS), fileRows: Number(rows) });
}
