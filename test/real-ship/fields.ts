/**
 * What is taken out of which message, by the public tables of NMEA 2000 fields (canboat's). Values stay in the units of the
 * bus and have exactly the decimals of its steps.
 */

export interface NumberField {
  readonly name: string;
  /** First byte. */
  readonly at: number;
  readonly bytes: 1 | 2 | 4 | 8;
  readonly signed?: boolean;
  /** A step is 10^-decimals, times `step`; none for whole numbers. */
  readonly decimals: number;
  readonly step?: number;
  readonly unit?: string;
  readonly range: readonly [low: number, high: number];
}

/** Two numbers as one JSON value. */
export interface PositionField {
  readonly name: string;
  readonly latitude: NumberField;
  readonly longitude: NumberField;
}

export interface Message {
  readonly pgn: number;
  readonly fields: readonly (NumberField | PositionField)[];
  /** Tells several things apart that one device reports: a battery, which wind. */
  readonly instance?: (payload: Buffer) => string;
}

const ANGLE = { bytes: 2, decimals: 4, unit: 'rad', range: [0, 6.5532] } as const;
const SMALL_ANGLE = { bytes: 2, signed: true, decimals: 4, unit: 'rad', range: [-3.2767, 3.2764] } as const;
const SPEED = { bytes: 2, decimals: 2, unit: 'm/s', range: [0, 655] } as const;
const TEMPERATURE = { bytes: 2, decimals: 2, unit: 'K', range: [0, 655] } as const;
const WIND_REFERENCES = ['True North', 'Magnetic', 'Apparent', 'True Boat', 'True Water'];

function position(at: number, bytes: 4 | 8, decimals: number): PositionField {
  const degrees = { bytes, decimals, signed: true, unit: 'deg' } as const;
  return {
    name: 'Position',
    latitude: { ...degrees, name: 'Latitude', at, range: [-90, 90] },
    longitude: { ...degrees, name: 'Longitude', at: at + bytes, range: [-180, 180] },
  };
}

export const MESSAGES: readonly Message[] = [
  {
    pgn: 127250,
    fields: [
      { name: 'Heading', at: 1, ...ANGLE },
      { name: 'Magnetic Variation', at: 5, ...SMALL_ANGLE },
    ],
  },
  {
    pgn: 127508,
    instance: (payload) => `Battery ${payload[0]}`,
    fields: [
      { name: 'Voltage', at: 1, bytes: 2, signed: true, decimals: 2, unit: 'V', range: [0, 100] },
      { name: 'Current', at: 3, bytes: 2, signed: true, decimals: 1, unit: 'A', range: [-1000, 1000] },
    ],
  },
  { pgn: 128259, fields: [{ name: 'Speed Through Water', at: 1, ...SPEED }] },
  {
    pgn: 128267,
    fields: [{ name: 'Water Depth', at: 1, bytes: 4, decimals: 2, unit: 'm', range: [0, 12_000] }],
  },
  {
    pgn: 128275,
    fields: [
      { name: 'Distance Log', at: 6, bytes: 4, decimals: 0, unit: 'm', range: [0, 4_294_967_292] },
      { name: 'Trip Distance', at: 10, bytes: 4, decimals: 0, unit: 'm', range: [0, 4_294_967_292] },
    ],
  },
  { pgn: 129025, fields: [position(0, 4, 7)] },
  {
    pgn: 129026,
    fields: [
      { name: 'Course Over Ground', at: 2, ...ANGLE },
      { name: 'Speed Over Ground', at: 4, ...SPEED },
    ],
  },
  {
    pgn: 129029,
    instance: () => 'GNSS',
    fields: [
      position(7, 8, 16),
      { name: 'Altitude', at: 23, bytes: 8, signed: true, decimals: 6, unit: 'm', range: [-1000, 20_000] },
      { name: 'Satellites', at: 33, bytes: 1, decimals: 0, range: [0, 252] },
      { name: 'Horizontal Dilution', at: 34, bytes: 2, signed: true, decimals: 2, range: [0, 320] },
    ],
  },
  {
    pgn: 130306,
    instance: (payload) => `${WIND_REFERENCES[payload[5]! & 7] ?? 'Other'} Wind`,
    fields: [
      { name: 'Speed', at: 1, ...SPEED },
      { name: 'Angle', at: 3, ...ANGLE },
    ],
  },
  {
    pgn: 130311,
    instance: (payload) => `Sensor ${payload[1]! & 63}`,
    fields: [
      { name: 'Temperature', at: 2, ...TEMPERATURE },
      {
        ...{ name: 'Humidity', at: 4, bytes: 2, signed: true, decimals: 3, step: 4, unit: '%' },
        range: [0, 100],
      },
      { name: 'Pressure', at: 6, bytes: 2, decimals: 0, unit: 'hPa', range: [0, 65_532] },
    ],
  },
];

/** A field as the text of a JSON number with all its decimals; undefined where the device had none. */
export function numberText(field: NumberField, payload: Buffer): string | undefined {
  const { at, bytes, signed = false, decimals, step = 1 } = field;
  if (payload.length < at + bytes) return undefined;
  const bits = BigInt(bytes * 8);
  const unsigned = BigInt(
    `0x${Buffer.from(payload.subarray(at, at + bytes))
      .reverse()
      .toString('hex')}`,
  );
  const highest = signed ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
  // The highest number says "not available", the one below it "out of range".
  if (unsigned === highest || unsigned === highest - 1n) return undefined;
  const raw = (signed ? BigInt.asIntN(Number(bits), unsigned) : unsigned) * BigInt(step);
  if (decimals === 0) return raw.toString();
  const digits = (raw < 0n ? -raw : raw).toString().padStart(decimals + 1, '0');
  return `${raw < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
