/** Series of the propeller shaft. */
import type { SeriesTemplate } from '../template.ts';
import { follows } from '../template.ts';

export function shaftTemplates(): SeriesTemplate[] {
  const of = (
    tag: string,
    item: string,
    code: string,
    unit: string,
    high: number,
    value: SeriesTemplate['value'],
  ): SeriesTemplate => ({
    tag: `Shaft ${tag}`,
    jsmea: ['jsmea_mac', 'Propulsion', 'Shaft', '', '', item, ''],
    vis: {
      item: '412.722-1/C403',
      verboseItem: '412.722-1/~propulsion.shafting/C403/~shaft',
      meta: `qty-${item.toLowerCase()}`,
    },
    maker: {
      code,
      name: `SHAFT ${tag.toUpperCase()}`,
      text: `Propeller shaft ${tag.toLowerCase()}, torsion meter`,
    },
    source: 'mac',
    unit,
    low: 0,
    high,
    scale: 1,
    pace: 'fast',
    jitter: false,
    value,
  });
  return [
    of('Power', 'Power', 'JE-6001', 'kW', 30000, follows('power', 1, 0, 25, 1)),
    of('Speed', 'RotationalFrequency', 'SE-6001', 'rpm', 150, follows('rpm', 1, 0, 0.15, 2)),
    of('Torque', 'Torque', 'WE-6001', 'kNm', 3500, follows('torque', 1, 0, 3, 2)),
    {
      ...of('Revolutions', 'Counter', 'SQ-6001', '', 9e18, {
        kind: 'counter',
        driver: 'revolutionsTotal',
        gain: 1,
        base: 412_000_311n,
      }),
      pace: 'normal',
    },
    {
      ...of('Thrust', 'Thrust', 'WE-6002', 'kN', 2500, follows('power', 0.058, 0, 4, 1)),
      gaps: 0.05,
    },
  ];
}
