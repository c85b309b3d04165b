/**
 * What a made-up vessel does: a round trip between two ports, for ever. Everything the sensors show follows
 * from it: power goes with the cube of speed, fuel with power, exhaust temperature with load. Pure functions
 * of vessel and time; one trip is tabulated by the minute once, so that counters have a closed form.
 */
import { mix2, unit } from './random.ts';

/** What the sensors of a vessel are driven by, one number each, in this order. */
export const DRIVERS = [
  'constant',
  'speed', // knots through water
  'groundSpeed', // knots
  'rpm',
  'power', // kW on the shaft
  'torque', // kNm
  'load', // % of the main engine
  'fuelRate', // kg/h, main engine
  'heading', // degrees
  'latitude',
  'longitude',
  'windSpeed', // m/s
  'windDirection', // degrees
  'seaTemperature', // °C
  'airTemperature', // °C
  'pressure', // hPa
  'waveHeight', // m
  'auxPower', // kW
  'auxFuelRate', // kg/h
  'boilerFuelRate', // kg/h
  'bunker', // % of the tanks, falls through the trip
  'cargo', // %
  'fuelTotal', // kg since 2020
  'distanceTotal', // nautical miles since 2020
  'revolutionsTotal',
  'hoursTotal', // running hours of the main engine
  'atSea', // 0 in port, 1 manoeuvring, 2 at sea
] as const;
export type Driver = (typeof DRIVERS)[number];

/** No made-up reading is older. */
export const FLEET_EPOCH_MINUTE = Date.UTC(2020, 0, 1) / 60_000;
const MINUTES_PER_HOUR = 60;
const CACHED_HOURS = 192;

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

/** Size and trade of one vessel. */
export interface VesselParticulars {
  readonly ratedPowerKw: number;
  readonly ratedRpm: number;
  readonly serviceSpeedKnots: number;
  readonly route: readonly [number, number, number, number];
  readonly seed: number;
}

/** One round trip by the minute. */
interface Trip {
  readonly minutes: number;
  readonly startMinute: number;
  readonly speed: Float64Array;
  /** Sums up to the start of each minute, and of the whole trip at the end. */
  readonly distance: Float64Array;
  readonly fuel: Float64Array;
  readonly revolutions: Float64Array;
  readonly hours: Float64Array;
  readonly lapDistance: number;
}

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

/** The conditions on board over time. */
export class Voyage {
  readonly #vessel: VesselParticulars;
  readonly #trip: Trip;
  readonly #hours = new Map<number, Float64Array>();

  constructor(vessel: VesselParticulars) {
    this.#vessel = vessel;
    this.#trip = tabulateTrip(vessel);
  }

  /** All drivers at the 61 minute marks of an hour, `[minute * DRIVERS.length + driver]`. */
  hour(hour: number): Float64Array {
    let table = this.#hours.get(hour);
    if (table !== undefined) return table;
    table = new Float64Array((MINUTES_PER_HOUR + 1) * DRIVERS.length);
    for (let minute = 0; minute <= MINUTES_PER_HOUR; minute++)
      this.#fill(table, minute * DRIVERS.length, hour * MINUTES_PER_HOUR + minute);
    if (this.#hours.size >= CACHED_HOURS) this.#hours.delete(this.#hours.keys().next().value!);
    this.#hours.set(hour, table);
    return table;
  }

  #fill(out: Float64Array, at: number, minute: number): void {
    const { ratedPowerKw, ratedRpm, serviceSpeedKnots, seed } = this.#vessel;
    const trip = this.#trip;
    const since = minute - trip.startMinute;
    const lap = Math.floor(since / trip.minutes);
    const phase = since - lap * trip.minutes;
    const wave = (days: number, n: number) =>
      Math.sin((minute / 1440 / days) * 2 * Math.PI + unit(mix2(seed, n)) * 6.283);
    const swell = 0.6 * wave(3.1, 11) + 0.4 * wave(1.3, 12);
    const speed = trip.speed[phase]!;
    const moving = speed > 0.1 ? 1 : 0;
    const power = powerAt(this.#vessel, speed) * (1 + 0.06 * swell);
    const rpm = moving * ratedRpm * (speed / serviceSpeedKnots) * 0.95;
    const load = (100 * power) / ratedPowerKw;
    const place = placeAt(this.#vessel, trip, phase);
    const wind = Math.max(0.4, 8 + 3.5 * wave(2.7, 13) + 2 * wave(0.8, 14));
    const dayAngle = ((minute % 1440) / 1440) * 2 * Math.PI;
    const latitudeWarmth = 28 - Math.abs(place.latitude) * 0.35;
    const total = (sums: Float64Array) => lap * sums[trip.minutes]! + sums[phase]!;
    const values: Record<Driver, number> = {
      constant: 1,
      speed,
      groundSpeed: Math.max(0, speed + moving * 0.7 * wave(0.52, 15)),
      rpm,
      power,
      torque: rpm > 1 ? power / ((2 * Math.PI * rpm) / 60) : 0,
      load,
      fuelRate: (power * specificFuel(load)) / 1000,
      heading: (place.heading + 4 * wave(0.11, 16) + 360) % 360,
      latitude: place.latitude,
      longitude: place.longitude,
      windSpeed: wind,
      windDirection: (180 + 150 * wave(5.3, 17) + 25 * wave(0.4, 18) + 360) % 360,
      seaTemperature: latitudeWarmth - 4 + 1.5 * wave(180, 19),
      airTemperature: latitudeWarmth - 5 - 3 * Math.cos(dayAngle) + 2 * wave(4.1, 20),
      pressure: 1013 + 11 * wave(4.7, 21) + 4 * wave(1.9, 22),
      waveHeight: Math.max(0.1, 0.14 * wind + 0.5 * swell),
      auxPower: 480 + (1 - moving) * 320 + 60 * wave(0.31, 23),
      auxFuelRate: (480 + (1 - moving) * 320 + 60 * wave(0.31, 23)) * 0.215,
      boilerFuelRate: (1 - moving) * 95 + 12 + 6 * wave(0.6, 24),
      bunker: 92 - (70 * phase) / trip.minutes,
      cargo: phase * 2 < trip.minutes ? 94 : 61,
      fuelTotal: total(trip.fuel),
      distanceTotal: total(trip.distance),
      revolutionsTotal: total(trip.revolutions),
      hoursTotal: total(trip.hours),
      atSea: speed < 0.1 ? 0 : speed < 0.8 * serviceSpeedKnots ? 1 : 2,
    };
    for (let d = 0; d < DRIVERS.length; d++) out[at + d] = values[DRIVERS[d]!];
  }
}

function tabulateTrip(vessel: VesselParticulars): Trip {
  const [fromLat, fromLon, toLat, toLon] = vessel.route;
  const northMiles = (toLat - fromLat) * 60;
  const eastMiles = (toLon - fromLon) * 60 * Math.cos((((fromLat + toLat) / 2) * Math.PI) / 180);
  const legMiles = Math.hypot(northMiles, eastMiles);
  const ramp = 90;
  const seaMinutes = Math.max(60, Math.round((legMiles / vessel.serviceSpeedKnots) * 60) - ramp);
  const portMinutes = [0, 1].map((n) => Math.round(60 * (9 + 22 * unit(mix2(vessel.seed, 31 + n)))));
  const speeds: number[] = [];
  for (const port of portMinutes) {
    for (let m = 0; m < port; m++) speeds.push(0);
    for (let m = 0; m < ramp; m++) speeds.push((vessel.serviceSpeedKnots * (m + 1)) / (ramp + 1));
    for (let m = 0; m < seaMinutes; m++) speeds.push(vessel.serviceSpeedKnots);
    for (let m = 0; m < ramp; m++) speeds.push((vessel.serviceSpeedKnots * (ramp - m)) / (ramp + 1));
  }
  const speed = Float64Array.from(speeds);
  const sums = (perMinute: (knots: number) => number) => {
    const out = new Float64Array(speed.length + 1);
    for (let m = 0; m < speed.length; m++) out[m + 1] = out[m]! + perMinute(speed[m]!);
    return out;
  };
  const distance = sums((knots) => knots / 60);
  return {
    minutes: speed.length,
    startMinute: FLEET_EPOCH_MINUTE - Math.round(speed.length * unit(mix2(vessel.seed, 33))),
    speed,
    distance,
    fuel: sums((knots) => fuelRateAt(vessel, knots) / 60),
    revolutions: sums((knots) => vessel.ratedRpm * (knots / vessel.serviceSpeedKnots) * 0.95),
    hours: sums((knots) => (knots > 0.1 ? 1 / 60 : 0)),
    lapDistance: distance[speed.length]!,
  };
}

/** Shaft power in kW: the propeller law, 82 % of the rating at service speed. */
function powerAt(vessel: VesselParticulars, knots: number): number {
  return 0.82 * vessel.ratedPowerKw * (knots / vessel.serviceSpeedKnots) ** 3;
}

/** g/kWh: best near 75 % load. */
function specificFuel(loadPercent: number): number {
  return 168 + 30 * (loadPercent / 100 - 0.75) ** 2;
}

function fuelRateAt(vessel: VesselParticulars, knots: number): number {
  const power = powerAt(vessel, knots);
  return (power * specificFuel((100 * power) / vessel.ratedPowerKw)) / 1000;
}

function placeAt(vessel: VesselParticulars, trip: Trip, phase: number) {
  const [fromLat, fromLon, toLat, toLon] = vessel.route;
  const half = trip.lapDistance / 2;
  const outbound = trip.distance[phase]! <= half;
  const share = outbound ? trip.distance[phase]! / half : 2 - trip.distance[phase]! / half;
  const north = toLat - fromLat;
  const east = (toLon - fromLon) * Math.cos((((fromLat + toLat) / 2) * Math.PI) / 180);
  const course = ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360;
  return {
    latitude: fromLat + north * share,
    longitude: fromLon + (toLon - fromLon) * share,
    heading: outbound ? course : (course + 180) % 360,
  };
}
