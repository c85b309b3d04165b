/** One level of an expression: a text, `*`, or a text with `*` in it, which stands for any letters of that level. */

/** A level with `*` and something else. */
export interface Glob {
  /** Comparisons that one `matches` counts for. */
  readonly cost: number;
  matches(text: string): boolean;
}

/** True for a level that matches any text. */
export function isAny(level: string): boolean {
  return /^\*+$/.test(level);
}

/** A level that holds `*` as a predicate. Found greedily from the left: no backtracking, so none is slow. */
export function compileGlob(level: string): Glob {
  const [head = '', ...rest] = level.split('*');
  const tail = rest.pop() ?? '';
  const pieces = rest.filter((piece) => piece !== '');
  const least = pieces.reduce((sum, piece) => sum + piece.length, head.length + tail.length);
  return {
    cost: 1 + pieces.length,
    matches(text) {
      if (text.length < least || !text.startsWith(head) || !text.endsWith(tail)) return false;
      let at = head.length;
      const end = text.length - tail.length;
      for (const piece of pieces) {
        const found = text.indexOf(piece, at);
        if (found < 0 || found + piece.length > end) return false;
        at = found + piece.length;
      }
      return true;
    },
  };
}

/** A level as a predicate. */
export function compileLevel(level: string): (text: string) => boolean {
  if (isAny(level)) return () => true;
  if (!level.includes('*')) return (text) => text === level;
  const glob = compileGlob(level);
  return (text) => glob.matches(text);
}
