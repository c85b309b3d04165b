/** A footer beyond this is none of ours: 40 million rows make 50 kB. */
const MAX_FOOTER_BYTES = 64 << 20;
/** Length and magic after the footer. */
const END_BYTES = 8;

/** Bytes of a Parquet footer with what follows it, by the last bytes of an object; or what is wrong with them, in words. */
export function footerLength(tail: Uint8Array, sizeBytes: number): number | string {
  if (tail.length < END_BYTES + 4) return `${tail.length} bytes`;
  const end = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength).subarray(-END_BYTES);
  if (end.toString('latin1', 4) !== 'PAR1') return `'${end.toString('hex', 4)}' (hex) at its end`;
  const footerBytes = end.readUInt32LE(0) + END_BYTES;
  return footerBytes > Math.min(sizeBytes, MAX_FOOTER_BYTES)
    ? `a footer of ${footerBytes} bytes`
    : footerBytes;
}
