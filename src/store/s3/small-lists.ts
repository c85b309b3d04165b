/** Pages of lists in the short way: reading one in XML's general form takes longer than all else that a list costs. */
import type { Version } from '../store.ts';
import type { ShortWay } from './short-way.ts';

interface ListQuery {
  /** Of names in the bucket. */
  readonly prefix: string;
  readonly maxKeys: number;
  /** What the page before names; undefined for the first one. */
  readonly token: string | undefined;
}

export interface ListedName {
  readonly name: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly tag: Version;
}

export interface NamesPage {
  readonly objects: readonly ListedName[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export interface SmallLists {
  /** A page; undefined where the SDK has to be asked. */
  list(query: ListQuery): Promise<NamesPage | undefined>;
}

const PAGE_END = '</ListBucketResult>';
// None of these can be part of a name: there `<` is written in another way.
const CONTENTS = /<Contents>([\s\S]*?)<\/Contents>/g;
/** However else one may begin. */
const ANY_CONTENTS = /<(?:\w+:)?Contents[\s/>]/g;
const KEY = /<Key>([^<]*)<\/Key>/;
const SIZE = /<Size>(\d+)<\/Size>/;
const MODIFIED = /<LastModified>([^<]*)<\/LastModified>/;
const ETAG = /<ETag>([^<]*)<\/ETag>/;
const TRUNCATED = /<IsTruncated>(true|false)<\/IsTruncated>/;
const NEXT = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/;
const KEY_COUNT = /<KeyCount>(\d+)<\/KeyCount>/;
const ESCAPE = /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi;
const LAST_CODE_POINT = 0x10ffff;
const ESCAPED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export function createSmallLists(way: ShortWay): SmallLists {
  /** Not with a store that writes lists in another way. */
  let isUsable = true;
  return {
    async list({ prefix, maxKeys, token }) {
      if (!isUsable) return undefined;
      const query = {
        ...{ 'list-type': '2', 'max-keys': String(maxKeys), prefix },
        ...(token !== undefined && { 'continuation-token': token }),
      };
      const answer = await way.send({ method: 'GET', name: '', query });
      if (answer?.status !== 200) return undefined;
      const page = parsePage(Buffer.from(answer.bytes).toString('utf8'));
      if (page === undefined) isUsable = false;
      return page;
    },
  };
}

/** Undefined for all that is not written as it mostly is. */
function parsePage(text: string): NamesPage | undefined {
  const isTruncated = TRUNCATED.exec(text)?.[1];
  if (isTruncated === undefined || !text.trimEnd().endsWith(PAGE_END)) return undefined;
  const objects: ListedName[] = [];
  for (const [, contents] of text.matchAll(CONTENTS)) {
    const object = parseObject(contents!);
    if (object === undefined) return undefined;
    objects.push(object);
  }
  // Not every store counts, and what is written in another way would be left out.
  if ((text.match(ANY_CONTENTS)?.length ?? 0) !== objects.length) return undefined;
  const counted = KEY_COUNT.exec(text)?.[1];
  if (counted !== undefined && Number(counted) !== objects.length) return undefined;
  const next = isTruncated === 'true' ? unescaped(NEXT.exec(text)?.[1]) : undefined;
  if (isTruncated === 'true' && !next) return undefined;
  return { objects, next };
}

function parseObject(contents: string): ListedName | undefined {
  const name = unescaped(KEY.exec(contents)?.[1]);
  const size = SIZE.exec(contents)?.[1];
  const modifiedMs = Date.parse(MODIFIED.exec(contents)?.[1] ?? '');
  const tag = unescaped(ETAG.exec(contents)?.[1] ?? '');
  if (!name || size === undefined || Number.isNaN(modifiedMs) || tag === undefined) return undefined;
  return { name, sizeBytes: Number(size), modifiedMs, tag };
}

/** Text of an element; undefined for what XML does not know by itself, or has no characters for. */
function unescaped(text: string | undefined): string | undefined {
  if (text === undefined || !text.includes('&')) return text;
  if (text.replace(ESCAPE, '').includes('&')) return undefined;
  let isText = true;
  const found = text.replace(ESCAPE, (_, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return ESCAPED[name.toLowerCase()]!;
    const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    if (codePoint <= LAST_CODE_POINT) return String.fromCodePoint(codePoint);
    isText = false;
    return '';
  });
  return isText ? found : undefined;
}
