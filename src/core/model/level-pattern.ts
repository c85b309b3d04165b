/** One level of an expression: a text, `*`, or a text with `*` in it, which stands for any letters of that level. */

export function isAny(level: string): boolean {
  return /^\*+$/.test(level);
}

/** A level as a predicate. `*` is found greedily from the left: no backtracking, so none is slow. */
export function compileLevel(level: string): (text: string) => boolean {
  if (!level.includes('*')) return (text) => text === level;
  const [head = '', ...rest] = level.split('*');
  const tail = rest.pop() ?? '';
  const pieces = rest.filter((piece) => piece !== '');
  return (text) => {
    let at = head.length;
    const end = text.length - tail.length;
    if (end < at || !text.startsWith(head) || !text.endsWith(tail)) return false;
    for (const piece of pieces) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}
