/**
 * What a made-up vessel does: a round trip between two ports, for ever. All that its sensors show follows from it, by pure functions of vessel and time
 * that are made when they are asked for.
 */
import type { Micros } from '../../../core/model/index.ts';
import { mix2, unit } from './random.ts';
import { powerAt, type Sum, specificFuel, Trip, type VesselParticulars } from './trip.ts';

/** What the sensors of a vessel are driven by, a number each. */
const DRIVER_VALUES = {
  constant: () => 1,
  speed: (m) => m.speed, // Knots through water
  groundSpeed: (m) => Math.max(0, m.speed + m.moving * 0.7 * m.wave(0.52, 15)),
  rpm: (m) => m.rpm,
  power: (m) => m.power, // kW on the shaft
  torque: (m) => (m.rpm > 1 ? m.power / ((2 * Math.PI * m.rpm) / 60) : 0), // kNm
  load: (m) => m.load, // % of the main engine
  fuelRate: (m) => (m.power * specificFuel(m.load)) / 1000, // kg/h, main engine
  heading: (m) => (m.place.heading + 4 * m.wave(0.11, 16) + 360) % 360, // Degrees
  latitude: (m) => m.place.latitude,
  longitude: (m) => m.place.longitude,
  windSpeed: (m) => m.wind, // m/s
  windDirection: (m) => (180 + 150 * m.wave(5.3, 17) + 25 * m.wave(0.4, 18) + 360) % 360, // Degrees
  seaTemperature: (m) => m.latitudeWarmth - 4 + 1.5 * m.wave(180, 19), // °C
  airTemperature: (m) => m.latitudeWarmth - 5 - 3 * Math.cos(m.dayAngle) + 2 * m.wave(4.1, 20),
  pressure: (m) => 1013 + 11 * m.wave(4.7, 21) + 4 * m.wave(1.9, 22), // hPa
  waveHeight: (m) => Math.max(0.1, 0.14 * m.wind + 0.5 * m.swell), // m
  auxPower: (m) => m.auxPower, // kW
  auxFuelRate: (m) => m.auxPower * 0.215, // kg/h
  boilerFuelRate: (m) => (1 - m.moving) * 95 + 12 + 6 * m.wave(0.6, 24), // kg/h
  bunker: (m) => 92 - (70 * m.phase) / m.trip.minutes, // % of the tanks, falls through the trip
  cargo: (m) => (m.phase * 2 < m.trip.minutes ? 94 : 61), // %
  /** kg, nautical miles, revolutions and running hours of the main engine, since 2020. */
  fuelTotal: (m) => m.total('fuel'),
  distanceTotal: (m) => m.total('distance'),
  revolutionsTotal: (m) => m.total('revolutions'),
  hoursTotal: (m) => m.total('hours'),
  /** 0 in port, 1 manoeuvring, 2 at sea. */
  atSea: (m) => (m.speed < 0.1 ? 0 : m.speed < 0.8 * m.vessel.serviceSpeedKnots ? 1 : 2),
} as const satisfies Readonly<Record<string, (minute: Minute) => number>>;

type Driver = keyof typeof DRIVER_VALUES;
export const DRIVERS = Object.keys(DRIVER_VALUES) as readonly Driver[];

/** What would turn by interpolation across north is taken at the minute mark. */
const STEPPED: ReadonlySet<Driver> = new Set(['heading', 'windDirection', 'atSea']);

const ROUTES: readonly (readonly [number, number, number, number])[] = [
  [60.39, 4.9, 64.16, -22.3], // Bergen – Reykjavík
  [57.13, -1.9, 55.46, 8.1], // Aberdeen – Esbjerg
  [38.66, -9.5, 37.73, -25.5], // Lisbon – Ponta Delgada
  [44.55, -63.4, 32.37, -64.6], // Halifax – Bermuda
  [54.2, 10.3, 59.9, 24.7], // Kiel – Helsinki
  [21.3, -158, 33.7, -118.4], // Honolulu – Long Beach
  [51.9, 3.8, 55.0, -1.2], // Rotterdam – Tyne
  [47.5, -52.5, 48.4, -5.2], // St. John's – Brest
];

export function vesselParticulars(seed: number, index: number): VesselParticulars {
  const pick = (n: number) => unit(mix2(seed + 7919 * index, n));
  return {
    ratedPowerKw: Math.round(70 + 150 * pick(1)) * 100,
    ratedRpm: Math.round(84 + 30 * pick(2)),
    serviceSpeedKnots: 13 + 4 * pick(3),
    route: ROUTES.at((index + (seed % ROUTES.length)) % ROUTES.length)!,
    seed: mix2(seed, index),
  };
}

const MICROS_PER_MINUTE = 60_000_000;
/** Of all lines together, some 40 MB: a day of ten vessels. They are made again when they are needed again. */
const MAX_MARKS = 500_000;

type MarkOf = (line: DriverLine, minute: number) => number;

/** What the lines of a fleet remember of their minute marks; all of it is forgotten at once when it is too much. */
export function createMarkStore(): MarkOf {
  const marks = new Map<DriverLine, Map<number, number>>();
  let count = 0;
  return (line, minute) => {
    const known = marks.get(line)?.get(minute);
    if (known !== undefined) return known;
    if (++count > MAX_MARKS) {
      marks.clear();
      count = 1;
    }
    const ofLine = marks.get(line) ?? new Map<number, number>();
    marks.set(line, ofLine);
    const mark = line.mark(minute);
    ofLine.set(minute, mark);
    return mark;
  };
}

/** One driver over time: a number at every minute mark, made when it is first needed, and straight lines between them. */
interface DriverLine {
  mark(minute: number): number;
  /** Reads the line; quick for times that follow each other. */
  reader(): (micros: Micros) => number;
}

export class Voyage {
  readonly vessel: VesselParticulars;
  readonly trip: Trip;
  readonly #markOf: MarkOf;
  readonly #lines = new Map<Driver, DriverLine>();

  constructor(vessel: VesselParticulars, markOf: MarkOf) {
    this.vessel = vessel;
    this.trip = new Trip(vessel);
    this.#markOf = markOf;
  }

  /** One object for all who ask, as they mostly ask for the same hours. */
  line(driver: Driver): DriverLine {
    let line = this.#lines.get(driver);
    if (line === undefined) {
      line = this.#createLine(driver);
      this.#lines.set(driver, line);
    }
    return line;
  }

  #createLine(driver: Driver): DriverLine {
    const value: (minute: Minute) => number = DRIVER_VALUES[driver];
    const [markOf, stepped] = [this.#markOf, STEPPED.has(driver)];
    const line: DriverLine = {
      mark: (minute) => value(new Minute(this, minute)),
      reader: () => {
        let [minute, from, to] = [Number.NaN, 0, 0];
        return (micros) => {
          const at = Math.floor(micros / MICROS_PER_MINUTE);
          if (at !== minute) {
            from = at === minute + 1 && !stepped ? to : markOf(line, at);
            to = stepped ? from : markOf(line, at + 1);
            minute = at;
          }
          return from + (to - from) * minutesAfter(micros, at);
        };
      },
    };
    return line;
  }
}

/** Counted from the hour, as it was from the first: other sums would give other last digits. */
function minutesAfter(micros: Micros, minute: number): number {
  const ofHour = minute % 60;
  return (micros - (minute - ofHour) * MICROS_PER_MINUTE) / MICROS_PER_MINUTE - ofHour;
}

/** A vessel at one minute mark, counted from 1970. */
class Minute {
  readonly vessel: VesselParticulars;
  readonly trip: Trip;
  readonly #minute: number;
  /** Trips that have ended before, and the minute of this one. */
  readonly #lap: number;
  readonly phase: number;
  readonly speed: number;

  constructor({ vessel, trip }: Voyage, minute: number) {
    const since = minute - trip.startMinute;
    this.vessel = vessel;
    this.trip = trip;
    this.#minute = minute;
    this.#lap = Math.floor(since / trip.minutes);
    this.phase = since - this.#lap * trip.minutes;
    this.speed = trip.speed(this.phase);
  }

  /** A sine whose period is so many days; `n` shifts it. */
  wave(days: number, n: number): number {
    return Math.sin((this.#minute / 1440 / days) * 2 * Math.PI + unit(mix2(this.vessel.seed, n)) * 6.283);
  }

  get moving(): number {
    return this.speed > 0.1 ? 1 : 0;
  }

  get swell(): number {
    return 0.6 * this.wave(3.1, 11) + 0.4 * this.wave(1.3, 12);
  }

  get power(): number {
    return powerAt(this.vessel, this.speed) * (1 + 0.06 * this.swell);
  }

  get rpm(): number {
    return this.moving * this.vessel.ratedRpm * (this.speed / this.vessel.serviceSpeedKnots) * 0.95;
  }

  get load(): number {
    return (100 * this.power) / this.vessel.ratedPowerKw;
  }

  get wind(): number {
    return Math.max(0.4, 8 + 3.5 * this.wave(2.7, 13) + 2 * this.wave(0.8, 14));
  }

  get dayAngle(): number {
    return ((this.#minute % 1440) / 1440) * 2 * Math.PI;
  }

  get latitudeWarmth(): number {
    return 28 - Math.abs(this.place.latitude) * 0.35;
  }

  get auxPower(): number {
    return 480 + (1 - this.moving) * 320 + 60 * this.wave(0.31, 23);
  }

  get place(): { readonly latitude: number; readonly longitude: number; readonly heading: number } {
    const [fromLat, fromLon, toLat, toLon] = this.vessel.route;
    const half = this.trip.total('distance') / 2;
    const travelled = this.trip.sum('distance', this.phase);
    const outbound = travelled <= half;
    const share = outbound ? travelled / half : 2 - travelled / half;
    const north = toLat - fromLat;
    const east = (toLon - fromLon) * Math.cos((((fromLat + toLat) / 2) * Math.PI) / 180);
    const course = ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360;
    return {
      latitude: fromLat + north * share,
      longitude: fromLon + (toLon - fromLon) * share,
      heading: outbound ? course : (course + 180) % 360,
    };
  }

  total(sum: Sum): number {
    return this.#lap * this.trip.total(sum) + this.trip.sum(sum, this.phase);
  }
}
