/** Counts as people read them. */

/** `1,234,567`. Whole numbers by hand: the first use of a locale takes 40 ms, a tenth of a small export. */
export function formatCount(count: number): string {
  if (!Number.isSafeInteger(count)) return count.toLocaleString('en-US');
  return String(count).replace(/\d(?=(?:\d{3})+$)/g, '$&,');
}

/** `1 vessel-day`, `1,234 vessel-days` */
export function countOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}
