/** The made-up fleet: vessels, their series, and when and what each series reads. */
import { floatText } from '../../query/formats.ts';
import type { SeriesRecord } from '../source.ts';
import { hashText, mix2, uuidFrom } from './random.ts';
import { type Cadence, type SeriesTemplate, vesselTemplates } from './templates.ts';
import type { VesselParticulars } from './trip.ts';
import { vesselParticulars } from './voyage.ts';

export interface FleetOptions {
  readonly seed: number;
  readonly vessels: number;
  /** Readings a vessel sends in a whole day, about. */
  readonly readingsPerDay: number;
  /** With numbers that no ship has: they begin with 0. */
  readonly isImaginary?: boolean;
}

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
  'Nordlys',
  'Havgula',
  'Skagerrak',
  'Ternen',
  'Morgenfrue',
  'Blåskjell',
  'Storegga',
  'Vestavind',
  'Lyngør',
  'Sjøstjerne',
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

export function fleetVessels(options: FleetOptions): FleetVessel[] {
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
export function fleetSeries(vessels: readonly FleetVessel[], options: FleetOptions): FleetSeries[] {
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

function record(vessel: FleetVessel, template: SeriesTemplate, timeSeriesId: string): SeriesRecord {
  const { tag, jsmea, vis, maker } = template;
  const names = new Map<string, string>([['id', timeSeriesId]]);
  const verboseNames = new Map<string, string>();
  if (jsmea) names.set('jsmea', [vessel.identifier, ...jsmea].join('/'));
  if (tag !== undefined) names.set('flat', `${vessel.identifier}/${tag}`);
  if (vis) {
    const secondary = vis.secondary === undefined ? '' : `/sec/${vis.secondary}`;
    names.set('vis-3-8a', `${vessel.identifier}/${vis.item}${secondary}/meta/${vis.meta}`);
    verboseNames.set('vis-3-8a', `${vessel.identifier}/${vis.verboseItem}${secondary}/meta/${vis.meta}`);
  }
  if (maker) names.set('maker', `${vessel.identifier}/${template.source}/${maker.code}`);
  return {
    timeSeriesId,
    vessel: vessel.identifier,
    names,
    verboseNames,
    description: {
      source: template.source,
      dataProvider: 'Fjordwise',
      unitOfMeasure: template.unit,
      scale: template.scale,
      vesselName: vessel.name,
      vesselImo: vessel.imo,
      name: maker?.name,
      text: maker?.text,
      rangeHigh: maker ? template.high : undefined,
      rangeLow: maker ? template.low : undefined,
      domainsJson: domainsJson(names, verboseNames, template),
    },
  };
}

function domainsJson(
  names: ReadonlyMap<string, string>,
  verboseNames: ReadonlyMap<string, string>,
  template: SeriesTemplate,
): string {
  const entries: string[] = [];
  const entry = (domain: string, fields: object, floats = '') =>
    entries.push(`${JSON.stringify(domain)}:${JSON.stringify(fields).slice(0, -1)}${floats}}`);
  if (template.jsmea) {
    const [namingRule, category, subcategory, content, position, item, modifier] = template.jsmea;
    const id = names.get('jsmea');
    entry('jsmea', { id, namingRule, category, subcategory, content, position, item, modifier });
  }
  if (template.tag !== undefined) entry('flat', { id: names.get('flat'), shortName: template.tag });
  if (template.vis) entry('vis-3-8a', { id: names.get('vis-3-8a'), verboseId: verboseNames.get('vis-3-8a') });
  if (template.maker) {
    const { name, text } = template.maker;
    const range =
      template.high === undefined || template.low === undefined
        ? ''
        : `,"rangeHigh":${floatText(template.high)},"rangeLow":${floatText(template.low)}`;
    entry('maker', { id: names.get('maker'), name, description: text }, range);
  }
  return `{${entries.join(',')}}`;
}
