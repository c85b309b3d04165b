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

/** An id column that is sound, but for what the footer says of it. */
const idClaims = (claims: Record<string, unknown>) => bodyWith({ id: { ...constant(ROWS, 'a'), claims } });
/** Longs as deltas in blocks of 128, of which this is what stands behind that. */
const deltaHead = (...bytes: number[]) =>
  bodyWith({ long_value: longs(Buffer.from([...varint(128), ...bytes]), ENCODING.delta) });
/** Longs as indexes of a dictionary of one. */
const indexed = (...bytes: number[]) => {
  const [dictionary] = constant(ROWS, 5n).pages;
  const { pages } = longs(Buffer.from(bytes), ENCODING.dictionary);
  return bodyWith({ long_value: { pages: [dictionary!, ...pages] } });
};
const leaf = (name: string, repetition_type = 'OPTIONAL') => ({
  ...{ type: name === 'id' ? 'BYTE_ARRAY' : 'INT64', name, repetition_type },
});
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

/** What is refused with one code: by its name, what must be said of it, and the body. */
const refused = (
  code: string,
  bodies: Readonly<Record<string, readonly [message: RegExp, body: () => Buffer]>>,
): HostileBody[] => Object.entries(bodies).map(([name, [message, body]]) => ({ name, body, code, message }));

export const HOSTILE_BODIES: readonly HostileBody[] = [
  ...BOMBS,
  ...refused('page-too-large', {
    'a thousand million rows in some hundred bytes': [
      /rows up to row group 1 .*found 1000000000 rows, allowed are 4194304;/,
      () => forgeParquet({ rows: BILLION, columns: constantColumns(BILLION) }),
    ],
    'rows beyond 2^53': [/found 4611686018427388000 rows/, () => withFooterOf({ num_rows: 2n ** 62n })],
    'a dictionary of a thousand million entries': [
      /bytes in pages that are open/,
      () => bodyWith({ id: { pages: [{ kind: 'dictionary', values: BILLION, bytes: plain('a') }] } }),
    ],
    'a page that claims 2 GiB': [
      /found 2147483666 bytes uncompressed up to there, allowed are 536870912/,
      () => {
        const [page] = longs(plain(1n)).pages;
        const claims = { total_uncompressed_size: 10n };
        return bodyWith({ id: { codec: 'ZSTD', pages: [{ ...page!, size: 2 * GIB - 1 }], claims } });
      },
    ],
    'pages that come to 2 GiB one after the other': [
      /bytes uncompressed up to there, allowed are 536870912/,
      () => {
        const { pages } = compressed('ZSTD', 0, Buffer.alloc(30_000_000));
        const claims = { total_uncompressed_size: 100n };
        return bodyWith({
          long_value: { codec: 'ZSTD', pages: Array.from({ length: 70 }, () => pages[0]!), claims },
        });
      },
    ],
    'a long text in the dictionary that every row repeats': [
      /column 'json_value' .*bytes of text, allowed are 536870912/,
      () => {
        const rows = 600;
        const times = Array.from({ length: rows }, (_, row) => BigInt(1_767_571_200_000 + row));
        const columns = { ...constantColumns(rows), timestamp: longs(plain(...times), ENCODING.plain, rows) };
        const json_value = constant(rows, `"${'x'.repeat(1_000_000)}"`);
        return forgeParquet({ rows, columns: { ...columns, long_value: nulls(rows), json_value } });
      },
    ],
    'a long text at one timestamp in every row': [
      /found 34\d+ bytes of text of one timestamp, allowed are 33554432/,
      () => jsonOnly(1_000, constant(1_000, `"${'x'.repeat(1_000_000)}"`)),
    ],
    'a million rows of one timestamp, which no row group may part': [
      /2026-01-05T00:00:00.000000Z .*found 131073 rows of that timestamp, allowed are 131072/,
      () => forgeParquet({ rows: 1_000_000, columns: constantColumns(1_000_000) }),
    ],
    'a page of more rows than are decoded at once': [
      /page 2 of column 'timestamp' .*found 2000000 rows in a page, allowed are 1048576/,
      () => forgeParquet({ rows: 2_000_000, columns: constantColumns(2_000_000) }),
    ],
    'texts that grow by prefixes': [
      /texts by prefixes .*found 67\d{6} bytes in a page or more, allowed are 67108864/,
      () => {
        // Every text is the one before and 4 kB more: 4 MB on average.
        const deltas = (first: number, more: number) =>
          Buffer.from([...[1_024, 1, ROWS, first * 2, more * 2].flatMap(varint), 0]);
        const texts = Buffer.alloc(ROWS * 4_096, 0x31);
        return jsonOnly(
          ROWS,
          longs(Buffer.concat([deltas(0, 4_096), deltas(4_096, 0), texts]), ENCODING.deltaBytes),
        );
      },
    ],
    'pages without values, without end': [
      /found 65537 pages up to there, allowed are 65536/,
      () => {
        const page = { kind: 'data', values: 0, bytes: levels(0, 1) } as const;
        return bodyWith({ long_value: { pages: Array.from({ length: 70_000 }, () => page) } });
      },
    ],
    'more than eight thousand row groups': [
      /found 8193 row groups or more, allowed are 8192/,
      () => forgeParquet({ rows: 1, columns: constantColumns(1), groups: 8_200 }),
    ],
    'a chunk that claims a terabyte uncompressed': [
      /found 1099511\d+ bytes uncompressed up to there/,
      () => idClaims({ total_uncompressed_size: 2n ** 40n }),
    ],
    'five thousand columns': [
      /columns or more, allowed are 1000/,
      () => {
        const leaves = Array.from({ length: 5_000 }, (_, index) => leaf(`c${index}`));
        return withSchema([{ name: 'root', num_children: leaves.length }, ...leaves]);
      },
    ],
  }),
  ...refused('bad-parquet', {
    'a page of more values than its row group has rows': [
      /found 1000000000 values, and 1000 left in the row group/,
      () =>
        bodyWith({ long_value: { pages: [{ kind: 'data', values: BILLION, bytes: levels(BILLION, 1) }] } }),
    ],
    'a dictionary of more entries than its bytes hold': [
      /found 9000 entries in 5 bytes/,
      () => bodyWith({ id: { pages: [{ kind: 'dictionary', values: 9_000, bytes: plain('a') }] } }),
    ],
    'a zstd frame that asks for a window of 2 GiB': [
      /found bytes that are not ZSTD/,
      () => {
        const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]);
        return bodyWith({
          long_value: { codec: 'ZSTD', pages: [{ kind: 'data', values: ROWS, bytes: frame, size: 9_000 }] },
        });
      },
    ],
    'deltas that claim a thousand million values': [
      /found 1000000000 deltas for 1000 values/,
      () => deltaHead(4, ...varint(BILLION), 0, 0, 0, 0, 0, 0),
    ],
    'deltas in blocks of no pieces': [
      /delta blocks of 128 values in 0 pieces/,
      () => deltaHead(0, ...varint(ROWS), 0),
    ],
    'deltas of 200 bits': [
      /deltas of 200 bits/,
      () => deltaHead(4, ...varint(ROWS), 0, 0, 200, 200, 200, 200),
    ],
    'an entry that the dictionary has not': [
      /entry 16777215 of a dictionary of 1/,
      () => indexed(24, ...varint(ROWS * 2), 0xff, 0xff, 0xff),
    ],
    'indexes of 200 bits': [/indexes of 200 bits/, () => indexed(200, 3)],
    'a chunk behind the end of the body': [
      /found bytes 5000000000 to \d+, expected a place between 4 and \d+/,
      () => idClaims({ data_page_offset: 5_000_000_000n }),
    ],
    'a chunk before the beginning': [/found bytes -100 to/, () => idClaims({ data_page_offset: -100n })],
    'row groups that share their bytes': [
      /column chunks that overlap/,
      () => forgeParquet({ rows: ROWS, columns: constantColumns(ROWS), groups: 2 }),
    ],
    'other rows in the footer than in its row groups': [
      /found 999 rows, and 1000 in the row groups/,
      () => forgeParquet({ rows: ROWS, columns: constantColumns(ROWS), fileRows: 999 }),
    ],
    'other values in a column than rows in its row group': [
      /found 1000000000 values, expected 1000, one a row/,
      () => idClaims({ num_values: BigInt(BILLION) }),
    ],
    'an id in a group': [
      /Parquet column 'id': found no such column/,
      () =>
        withSchema([
          { name: 'root', num_children: 5 },
          leaf('timestamp'),
          { name: 'ids', num_children: 1, repetition_type: 'OPTIONAL' },
          ...['id', 'long_value', 'double_value', 'json_value'].map((name) => leaf(name)),
        ]),
    ],
    'a list of ids': [
      /found a repeated column, or two of that name/,
      () => withSchema([{ name: 'root', num_children: 5 }, ...NAMES.map((name) => leaf(name, 'REPEATED'))]),
    ],
    'groups that claim more columns than there are': [
      /fewer columns than the groups claim/,
      () => {
        const root = [0x55, ...varint(2 * BILLION), 0];
        const leaf = [0x15, 4, 0x38, ...text('timestamp'), 0];
        return withFooter(Buffer.from([0x29, 0x2c, ...root, ...leaf, 0]));
      },
    ],
    'a footer that is longer than the body': [
      /found a length of 4294967295 bytes, expected at most 1, as there are/,
      () => withFooter(Buffer.from([0]), 2 ** 32 - 1),
    ],
    'a footer of no bytes': [/found its end inside a value/, () => withFooter(Buffer.alloc(0))],
    'a list of two thousand million in the footer': [
      /found a list of 2147483648, expected at most the 0 bytes that are left/,
      () => withFooter(schemaOf(2 ** 31)),
    ],
    'a list of booleans, which take no bytes as fields': [
      /a list of 2147483648/,
      () => withFooter(Buffer.from([0xf9, 0xf1, ...varint(2 ** 31), 0])),
    ],
    'structures a hundred thousand deep': [
      /structures 25 deep, expected at most 24/,
      () => withFooter(Buffer.alloc(100_000, 0xfc)),
    ],
    'lists a hundred thousand deep': [
      /structures 25 deep, expected at most 24/,
      () => withFooter(Buffer.concat([Buffer.from([0xf9]), Buffer.alloc(100_000, 0x19)])),
    ],
    'a number of a million bytes': [
      /a number of more than ten bytes/,
      () => withFooter(Buffer.concat([Buffer.from([0x16]), Buffer.alloc(1_000_000, 0xff)])),
    ],
    'a name of two thousand million bytes': [
      /a value of 2147483648 bytes/,
      () => withFooter(Buffer.from([0x29, 0x1c, 0x48, ...varint(2 ** 31), ...text('id')])),
    ],
  }),
  ...refused('bad-id', {
    'an id of a megabyte': [
      /^row 1 of the Parquet body: found 'x+…', expected an id of at most 4096 bytes without control/,
      () => bodyWith({ id: constant(ROWS, 'x'.repeat(1_000_000)) }),
    ],
  }),
];

function withSchema(schema: Record<string, unknown>[]): Buffer {
  return forgeParquet({ rows: ROWS, columns: constantColumns(ROWS), schema });
}

function withFooterOf({ num_rows: rows }: { num_rows: bigint }): Buffer {
  return forgeParquet({ rows: Number(rows), columns: constantColumns(ROWS), fileRows: Number(rows) });
}
