/** Series in the byte order of their ids: codes follow the order of arrival, and what is encoded must not. */
export interface SeriesRanks {
  readonly rankOfCode: Int32Array;
  readonly ids: TextList;
  /** Ids in the selected domain by rank, empty where a series has none. */
  readonly names: TextList;
  /** By rank: 1 where the series has a name. */
  readonly named: Uint8Array;
}

/** Texts one after the other: entry `n` is `bytes[ends[n-1] ?? 0, ends[n])`. */
interface TextList {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
}

export interface RankedSeries {
  readonly ranks: SeriesRanks;
  readonly ids: readonly string[];
}

const encoder = new TextEncoder();

/** Texts one after the other, in memory of exactly their size: what is sent to a worker is copied whole. */
function textList(texts: readonly string[]): TextList {
  const ends = new Int32Array(texts.length);
  let end = 0;
  for (let index = 0; index < ends.length; index++) {
    end += Buffer.byteLength(texts[index]!);
    ends[index] = end;
  }
  const bytes = encoder.encode(texts.join(''));
  if (bytes.length === end) return { bytes, ends };
  // Halves of a character at the end of one text and at the begin of the next would make a whole one.
  return { bytes: Uint8Array.from(Buffer.concat(texts.map((text) => encoder.encode(text)))), ends };
}

type Compare = (a: string, b: string) => number;

const byUnits: Compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Units of one byte are in the order of their bytes. */
function byteOrderOf(texts: readonly string[]): Compare {
  if (texts.every((text) => Buffer.byteLength(text) === text.length)) return byUnits;
  const bytesOf = new Map(texts.map((text) => [text, encoder.encode(text)]));
  return (a, b) => Buffer.compare(bytesOf.get(a)!, bytesOf.get(b)!);
}

/** Rank series by the bytes of their ids, then by name, then by UTF-16 units; what is equal in all has one rank. */
export function rankSeries(series: readonly Readonly<{ id: string; name: string | null }>[]): RankedSeries {
  const entries = series.map(({ id, name }, code) => ({ id, name, code }));
  const byBytes = byteOrderOf(series.map(({ id }) => id));
  entries.sort(
    (a, b) =>
      byBytes(a.id, b.id) ||
      Number(a.name !== null) - Number(b.name !== null) ||
      byUnits(a.name ?? '', b.name ?? '') ||
      byUnits(a.id, b.id),
  );
  const rankOfCode = new Int32Array(series.length);
  const ranked: typeof entries = [];
  for (const entry of entries) {
    const last = ranked.at(-1);
    if (last?.id !== entry.id || last.name !== entry.name) ranked.push(entry);
    rankOfCode[entry.code] = ranked.length - 1;
  }
  const ids = ranked.map((entry) => entry.id);
  return {
    ranks: {
      rankOfCode,
      ids: textList(ids),
      names: textList(ranked.map(({ name }) => name ?? '')),
      named: Uint8Array.from(ranked, ({ name }) => (name === null ? 0 : 1)),
    },
    ids,
  };
}

/** The ranks of a dictionary that only grows: computed again when it has. */
export function createRanking(
  ids: readonly string[],
  idOf: (timeSeriesId: string) => string | null,
): () => RankedSeries {
  let ranked: RankedSeries | undefined;
  return () => {
    if (ranked?.ranks.rankOfCode.length !== ids.length)
      ranked = rankSeries(ids.map((id) => ({ id, name: idOf(id) })));
    return ranked;
  };
}
