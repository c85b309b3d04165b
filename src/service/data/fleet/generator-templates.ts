/** Series of one generator engine. */
import type { Pace, SeriesTemplate, ValueRule } from '../template.ts';
import { follows } from '../template.ts';

export function generatorTemplates(number: number): SeriesTemplate[] {
  const share = [0.5, 0.35, 0.15][number - 1]!;
  const of = (
    tag: string,
    content: string,
    item: string,
    code: string,
    unit: string,
    high: number,
    value: ValueRule,
    pace: Pace = 'normal',
  ): SeriesTemplate => ({
    tag: `AE${number} ${tag}`,
    jsmea: ['jsmea_mac', 'AuxEngine', `Engine${number}`, content, '', item, ''],
    vis: {
      item: `411.2-${number}/C101`,
      verboseItem: `411.2-${number}/~auxiliary.driver/C101/~engine`,
      meta: `qty-${item.toLowerCase()}/cnt-${content.toLowerCase() || 'engine'}`,
      ...(content === 'CoolingWater' ? { secondary: `411.2-${number}/C101.72` } : {}),
    },
    maker: {
      code: `${code}${number}`,
      name: `AE${number} ${tag.toUpperCase()}`,
      text: `Generator engine ${number}: ${tag.toLowerCase()}`,
    },
    source: 'mac',
    unit,
    low: 0,
    high,
    scale: 0.1,
    pace,
    jitter: number === 2,
    value,
  });
  return [
    of('Power', '', 'Power', 'JE-711', 'kW', 1200, follows('auxPower', share, 0, 4, 1), 'fast'),
    of('Speed', '', 'RotationalFrequency', 'SE-711', 'rpm', 1000, follows('constant', 0, 720, 2, 0)),
    of('Voltage', 'Generator', 'Voltage', 'EE-711', 'V', 500, follows('constant', 0, 450, 1, 1)),
    of('Frequency', 'Generator', 'Frequency', 'SE-712', 'Hz', 70, follows('constant', 0, 60, 0.05, 2)),
    of(
      'Exhaust Gas Temp',
      'ExhaustGas',
      'Temp',
      'TE-715',
      '°C',
      600,
      follows('auxPower', 0.45 * share, 230, 3, 1),
    ),
    of('Lub Oil Press', 'LubOil', 'Press', 'PE-716', 'bar', 8, follows('auxPower', 0.0003, 4.1, 0.04, 2)),
    of('Lub Oil Temp', 'LubOil', 'Temp', 'TE-716', '°C', 110, follows('auxPower', 0.006, 62, 0.4, 1), 'slow'),
    of(
      'Cooling Water Temp',
      'CoolingWater',
      'Temp',
      'TE-717',
      '°C',
      110,
      follows('auxPower', 0.008, 71, 0.4, 1),
      'slow',
    ),
    of(
      'Winding Temp',
      'Generator',
      'Temp',
      'TE-718',
      '°C',
      160,
      follows('auxPower', 0.03, 55, 0.5, 1),
      'slow',
    ),
    of(
      'Running Hours',
      '',
      'Hours',
      'KQ-711',
      'h',
      1_000_000,
      { kind: 'counter', driver: 'hoursTotal', gain: 0.8 * share, base: 12_000n },
      'rare',
    ),
  ];
}
