/** One round trip of a made-up vessel, minute by minute: how fast it is, and what has summed up since it began. */
import { mix2, unit } from './random.ts';

/** No made-up reading is older. */
export const FLEET_EPOCH_MINUTE = Date.UTC(2020, 0, 1) / 60_000;
/** Minutes from port to full speed, and back. */
const RAMP = 90;
/** Sums are kept for every so many minutes, and added up from there: whole fleets would fill the memory otherwise. */
const MARK_MINUTES = 64;

export interface VesselParticulars {
  readonly ratedPowerKw: number;
  readonly ratedRpm: number;
  readonly serviceSpeedKnots: number;
  /** Latitude and longitude of both ports. */
  readonly route: readonly [number, number, number, number];
  readonly seed: number;
}

/** What sums up on a trip, of one minute at a speed: nautical miles, kg of fuel, revolutions, and running hours. */
const PER_MINUTE = {
  distance: (_: VesselParticulars, knots: number) => knots / 60,
  fuel: (vessel: VesselParticulars, knots: number) => fuelRateAt(vessel, knots) / 60,
  revolutions: (vessel: VesselParticulars, knots: number) =>
    vessel.ratedRpm * (knots / vessel.serviceSpeedKnots) * 0.95,
  hours: (_: VesselParticulars, knots: number) => (knots > 0.1 ? 1 / 60 : 0),
};
export type Sum = keyof typeof PER_MINUTE;

interface Summed {
  /** Up to every `MARK_MINUTES`th minute. */
  readonly marks: Float64Array;
  readonly total: number;
  /** What was asked for last: the sum up to a minute. */
  minute: number;
  value: number;
}

/** Out and back, with a stay in both ports. */
export class Trip {
  readonly minutes: number;
  /** When a trip began, counted from 1970. */
  readonly startMinute: number;
  readonly #vessel: VesselParticulars;
  readonly #portMinutes: readonly [number, number];
  readonly #seaMinutes: number;
  readonly #sums = new Map<Sum, Summed>();

  constructor(vessel: VesselParticulars) {
    const [fromLat, fromLon, toLat, toLon] = vessel.route;
    const northMiles = (toLat - fromLat) * 60;
    const eastMiles = (toLon - fromLon) * 60 * Math.cos((((fromLat + toLat) / 2) * Math.PI) / 180);
    const legMiles = Math.hypot(northMiles, eastMiles);
    const portMinutes = (n: number) => Math.round(60 * (9 + 22 * unit(mix2(vessel.seed, 31 + n))));
    this.#vessel = vessel;
    this.#seaMinutes = Math.max(60, Math.round((legMiles / vessel.serviceSpeedKnots) * 60) - RAMP);
    this.#portMinutes = [portMinutes(0), portMinutes(1)];
    this.minutes = this.#portMinutes[0] + this.#portMinutes[1] + 2 * (this.#seaMinutes + 2 * RAMP);
    this.startMinute = FLEET_EPOCH_MINUTE - Math.round(this.minutes * unit(mix2(vessel.seed, 33)));
  }

  speed(minute: number): number {
    const knots = this.#vessel.serviceSpeedKnots;
    const [outPort, backPort] = this.#portMinutes;
    const legMinutes = this.#seaMinutes + 2 * RAMP;
    const isOut = minute < outPort + legMinutes;
    const underWay = isOut ? minute - outPort : minute - outPort - legMinutes - backPort;
    if (underWay < 0) return 0;
    if (underWay < RAMP) return (knots * (underWay + 1)) / (RAMP + 1);
    const afterSea = underWay - RAMP - this.#seaMinutes;
    return afterSea < 0 ? knots : (knots * (RAMP - afterSea)) / (RAMP + 1);
  }

  /** Up to the start of a minute of the trip. */
  sum(sum: Sum, minute: number): number {
    const summed = this.#summed(sum);
    const mark = Math.floor(minute / MARK_MINUTES);
    // Most ask for one minute after the other.
    const goesOn = summed.minute >= mark * MARK_MINUTES && summed.minute <= minute;
    const [from, before] = goesOn
      ? [summed.minute, summed.value]
      : [mark * MARK_MINUTES, summed.marks[mark]!];
    summed.value = this.#add(sum, before, from, minute);
    summed.minute = minute;
    return summed.value;
  }

  total(sum: Sum): number {
    return this.#summed(sum).total;
  }

  #summed(sum: Sum): Summed {
    let summed = this.#sums.get(sum);
    if (summed === undefined) {
      const marks = new Float64Array(Math.floor(this.minutes / MARK_MINUTES) + 1);
      const last = marks.length - 1;
      for (let mark = 1; mark <= last; mark++)
        marks[mark] = this.#add(sum, marks[mark - 1]!, (mark - 1) * MARK_MINUTES, mark * MARK_MINUTES);
      const total = this.#add(sum, marks[last]!, last * MARK_MINUTES, this.minutes);
      summed = { marks, total, minute: 0, value: 0 };
      this.#sums.set(sum, summed);
    }
    return summed;
  }

  /** Minute after minute in one order, so that it is the same sum from whichever mark. */
  #add(sum: Sum, before: number, from: number, to: number): number {
    let after = before;
    for (let minute = from; minute < to; minute++) after += PER_MINUTE[sum](this.#vessel, this.speed(minute));
    return after;
  }
}

/** Shaft power in kW: the propeller law, 82 % of the rating at service speed. */
export function powerAt(vessel: VesselParticulars, knots: number): number {
  return 0.82 * vessel.ratedPowerKw * (knots / vessel.serviceSpeedKnots) ** 3;
}

/** g/kWh: best near 75 % load. */
export function specificFuel(loadPercent: number): number {
  return 168 + 30 * (loadPercent / 100 - 0.75) ** 2;
}

function fuelRateAt(vessel: VesselParticulars, knots: number): number {
  const power = powerAt(vessel, knots);
  return (power * specificFuel((100 * power) / vessel.ratedPowerKw)) / 1000;
}
