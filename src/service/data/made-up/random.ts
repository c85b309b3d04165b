/** Integer hashing: the made-up fleet's only source of chance, the same on every machine. */

/** Mixes 32 bits well (two rounds of multiply and shift). Unsigned result. */
export function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad);
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
  return (h ^ (h >>> 15)) >>> 0;
}

export function mix2(a: number, b: number): number {
  return mix(mix(a) ^ Math.imul(b | 0, 0x9e3779b1));
}

/** Hash of a text and a seed (FNV-1a, then mixed). */
export function hashText(text: string, seed: number): number {
  let h = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h);
}

export function unit(hash: number): number {
  return hash / 2 ** 32;
}

/** A UUID (version 4 in form) that depends on nothing but its text and seed. */
export function uuidFrom(text: string, seed: number): string {
  const words = [0, 1, 2, 3].map((n) => hashText(`${n}:${text}`, seed).toString(16).padStart(8, '0'));
  const hex = words.join('');
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
