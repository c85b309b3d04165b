/** Messages of a ship's bus as the NDJSON that `service --replay` takes. */
import type { NumberField, PositionField } from './fields.ts';
import { MESSAGES, numberText } from './fields.ts';
import type { Frame } from './frames.ts';

export interface Ship {
  readonly imo: string;
  readonly name: string;
  readonly dataProvider: string;
}

export interface ShipReading {
  readonly id: string;
  readonly timestamp: string;
  /** JSON. */
  readonly value: string;
}

export interface ShipReadings {
  /** Of each series by its id: an object of metadata, as version 2026-09-10 has it. */
  readonly series: ReadonlyMap<string, object>;
  readonly readings: readonly ShipReading[];
}

/** Every number that the tables know, in the order of the frames. */
export function readingsOf(frames: readonly Frame[], ship: Ship): ShipReadings {
  const messages = new Map(MESSAGES.map((message) => [message.pgn, message]));
  const series = new Map<string, object>();
  const readings: ShipReading[] = [];
  for (const { time, pgn, source, payload } of frames) {
    const message = messages.get(pgn);
    for (const field of message?.fields ?? []) {
      const value = valueText(field, payload);
      if (value === undefined) continue;
      const name = [message?.instance?.(payload), field.name].filter(Boolean).join(' ');
      const id = `IMO${ship.imo}/${name} ${source}`;
      if (!series.has(id)) series.set(id, metadataOf(ship, id, name, field, pgn, source));
      readings.push({ id, timestamp: time, value });
    }
  }
  return { series, readings };
}

/** The lines of a file for `service --replay`. */
export function linesOf({ series, readings }: ShipReadings): string {
  const lines = [...series.values()].map((metadata) => JSON.stringify(metadata));
  for (const { id, timestamp, value } of readings)
    lines.push(`{"id":${JSON.stringify(id)},"timestamp":"${timestamp}","value":${value}}`);
  return `${lines.join('\n')}\n`;
}

function valueText(field: NumberField | PositionField, payload: Buffer): string | undefined {
  if (!('latitude' in field)) return numberText(field, payload);
  const latitude = numberText(field.latitude, payload);
  const longitude = numberText(field.longitude, payload);
  if (latitude === undefined || longitude === undefined) return undefined;
  return `{"latitude":${latitude},"longitude":${longitude}}`;
}

function metadataOf(
  { imo, name: vesselName, dataProvider }: Ship,
  id: string,
  name: string,
  field: NumberField | PositionField,
  pgn: number,
  source: number,
): object {
  const range = 'range' in field ? { rangeLow: field.range[0], rangeHigh: field.range[1] } : {};
  const code = `${pgn}.${source}.${name.toLowerCase().replaceAll(' ', '-')}`;
  const description = `${name}, PGN ${pgn} of device ${source}`;
  return {
    id,
    source: 'n2k',
    dataProvider,
    unitOfMeasure: 'unit' in field ? field.unit : 'latitude' in field ? field.latitude.unit : undefined,
    vessel: { name: vesselName, imo },
    domains: {
      flat: { id, shortName: id.slice(id.indexOf('/') + 1) },
      maker: { id: `IMO${imo}/n2k/${code}`, name, description, ...range },
    },
  };
}
