/** NMEA 2000 messages of a recording in the plain format of canboat: time, priority, PGN, source, destination, length, bytes. */

export interface Frame {
  /** As recorded: `2014-08-15T19:00:00.042Z`. */
  readonly time: string;
  readonly pgn: number;
  /** Address of the device on the bus. */
  readonly source: number;
  /** Whole: messages of several packets have been put together by who recorded them. */
  readonly payload: Buffer;
}

const SHAPE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z),\d,(\d+),(\d+),\d+,(\d+),((?:[0-9a-f]{2},?)+)$/i;

/** Throws on a line of another shape, or with other bytes than it says. */
export function parseFrames(text: string): Frame[] {
  return text
    .trim()
    .split(/\r?\n/)
    .map((line, at) => {
      const match = SHAPE.exec(line);
      const payload = Buffer.from(match?.[5]?.replaceAll(',', '') ?? '', 'hex');
      if (match === null || payload.length !== Number(match[4]))
        throw new Error(`line ${at + 1}: found '${line.slice(0, 120)}', expected a message of NMEA 2000`);
      return { time: match[1]!, pgn: Number(match[2]), source: Number(match[3]), payload };
    });
}
