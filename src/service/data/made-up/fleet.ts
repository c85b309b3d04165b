/** The made-up fleet: vessels, their series, and when and what each series reads. */
import type { MadeUpData } from '../../options.ts';
import { floatText } from '../../query/formats.ts';
import { rawNumber } from '../raw-json.ts';
import { namesInDomains, type SeriesRecord } from '../source.ts';
import { hashText, mix2, uuidFrom } from './random.ts';
import { type Cadence, type SeriesTemplate, vesselTemplates } from './templates.ts';
import type { VesselParticulars } from './trip.ts';
import { vesselParticulars } from './voyage.ts';

export interface FleetVessel {
  readonly identifier: string;
  readonly imo: string;
  readonly name: string;
  readonly particulars: VesselParticulars;
}

export interface FleetSeries {
  readonly record: SeriesRecord;
  readonly template: SeriesTemplate;
  readonly vessel: FleetVessel;
  readonly seed: number;
  /** One reading at most in each slot of this length, counted from midnight. */
  readonly slotMicros: number;
}

const NAMES = [
  ...['Nordlys', 'Havgula', 'Skagerrak', 'Ternen', 'Morgenfrue'],
  ...['Blåskjell', 'Storegga', 'Vestavind', 'Lyngør', 'Sjøstjerne'],
];
const SECONDS_PER_DAY = 86_400;
const MICROS = 1_000_000;
const RARE_SLOT_SECONDS = 4 * 3600;
/** Slots between two readings, relative to the fastest series. */
const CADENCE_FACTOR: Record<Exclude<Cadence, 'rare'>, number> = { fast: 1, normal: 4, slow: 20 };

/** `IMO` number with its check digit: the last digit of 7a+6b+5c+4d+3e+2f. */
export function imoNumber(sixDigits: number): string {
  const digits = String(sixDigits).padStart(6, '0');
  let sum = 0;
  for (let i = 0; i < 6; i++) sum += Number(digits[i]) * (7 - i);
  return `${digits}${sum % 10}`;
}

/** The first six digits of a vessel's number: beyond 999,999 they go on from 100,000, which 137 meets nowhere twice. */
function sixDigitsOf(index: number, isImaginary: boolean): number {
  if (isImaginary) return (index + 1) * 97;
  return 100_000 + ((832_148 + index * 137) % 900_000);
}

export function fleetVessels(options: MadeUpData): FleetVessel[] {
  return Array.from({ length: options.vessels }, (_, index) => {
    const imo = imoNumber(sixDigitsOf(index, options.isImaginary === true));
    const round = Math.floor(index / NAMES.length);
    return {
      identifier: `IMO${imo}`,
      imo,
      name: NAMES[index % NAMES.length]! + (round === 0 ? '' : ` ${round + 1}`),
      particulars: vesselParticulars(options.seed, index),
    };
  });
}

/** Every series of the fleet, by ascending time series id. */
export function fleetSeries(vessels: readonly FleetVessel[], options: MadeUpData): FleetSeries[] {
  const byCylinders = [6, 7, 8].map(vesselTemplates);
  const all = vessels.flatMap((vessel) => {
    const templates = byCylinders[vessel.particulars.seed % 3]!;
    const fastSlotMicros = fastestSlot(templates, options.readingsPerDay);
    return templates.map((template, index) => series(vessel, template, index, fastSlotMicros, options.seed));
  });
  return all.sort((a, b) => (a.record.timeSeriesId < b.record.timeSeriesId ? -1 : 1));
}

/** Slot of the fastest series such that the vessel's series together give about `readingsPerDay`. */
function fastestSlot(templates: readonly SeriesTemplate[], readingsPerDay: number): number {
  let perFastSlot = 0;
  let rare = 0;
  for (const { cadence } of templates) {
    if (cadence === 'rare') rare += SECONDS_PER_DAY / RARE_SLOT_SECONDS;
    else perFastSlot += 1 / CADENCE_FACTOR[cadence];
  }
  const slots = Math.max(1, readingsPerDay - rare) / perFastSlot;
  // Whole milliseconds, so that readings on the grid look like a logger's.
  return Math.max(1_000, Math.round((SECONDS_PER_DAY * 1000) / slots) * 1_000);
}

function series(
  vessel: FleetVessel,
  template: SeriesTemplate,
  index: number,
  fastSlotMicros: number,
  seed: number,
): FleetSeries {
  const key = `${vessel.imo}/${index}/${template.tag ?? template.maker?.code ?? ''}`;
  const slotMicros =
    template.cadence === 'rare'
      ? RARE_SLOT_SECONDS * MICROS
      : fastSlotMicros * CADENCE_FACTOR[template.cadence];
  return {
    record: record(vessel, template, uuidFrom(key, seed)),
    template,
    vessel,
    seed: mix2(hashText(key, seed), seed),
    slotMicros: Math.min(slotMicros, SECONDS_PER_DAY * MICROS),
  };
}

function record(
  { identifier, imo, name: vesselName }: FleetVessel,
  { tag, jsmea, vis, maker, source, unit, scale, high, low }: SeriesTemplate,
  timeSeriesId: string,
): SeriesRecord {
  const [namingRule, category, subcategory, content, position, item, modifier] = jsmea ?? [];
  const range = maker && high !== undefined && low !== undefined ? { rangeHigh: high, rangeLow: low } : {};
  const floats = Object.entries(range).map(([name, value]) => [name, rawNumber(floatText(value))]);
  const domains = {
    ...(jsmea && {
      jsmea: {
        id: [identifier, ...jsmea].join('/'),
        ...{ namingRule, category, subcategory, content, position, item, modifier },
      },
    }),
    ...(tag !== undefined && { flat: { id: `${identifier}/${tag}`, shortName: tag } }),
    ...(vis && {
      'vis-3-8a': { id: `${identifier}/${vis.id}`, verboseId: `${identifier}/${vis.verboseId}` },
    }),
    ...(maker && {
      maker: {
        ...{ id: `${identifier}/${source}/${maker.code}`, name: maker.name, description: maker.text },
        ...Object.fromEntries(floats),
      },
    }),
  };
  return {
    timeSeriesId,
    vessel: identifier,
    ...namesInDomains(timeSeriesId, domains),
    description: {
      ...{ source, dataProvider: 'Fjordwise', unitOfMeasure: unit, scale, vesselName, vesselImo: imo },
      ...{ name: maker?.name, text: maker?.text, ...range },
      domainsJson: JSON.stringify(domains),
    },
  };
}
