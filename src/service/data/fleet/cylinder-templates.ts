/** Series of one cylinder of the main engine. */
import type { SeriesTemplate } from '../template.ts';
import { follows } from '../template.ts';

const ITEM = '411.1/C101';
const VERBOSE_ITEM = '411.1/~propulsion.driver/C101';

export function cylinderTemplates(cylinder: number): SeriesTemplate[] {
  // No two cylinders are alike: a fixed spread around the mean.
  const spread = ((cylinder * 37) % 11) - 5;
  const of = (
    tag: string,
    item: string,
    content: string,
    position: string,
    code: string,
    text: string,
    meta: string,
  ) => ({
    tag: `ME Cyl ${cylinder} ${tag}`,
    jsmea: ['jsmea_mac', 'MainEngine', `Cylinder${cylinder}`, content, position, item, ''] as const,
    vis: {
      item: `${ITEM}.31-${cylinder}`,
      verboseItem: `${VERBOSE_ITEM}.31-${cylinder}/~main.engine.cylinder`,
      meta,
    },
    maker: {
      code: `${code}${String(cylinder).padStart(2, '0')}`,
      name: `${tag.toUpperCase()} CYL${cylinder}`,
      text: `${text} ${cylinder}`,
    },
    source: 'mac',
  });
  return [
    {
      ...of(
        'Exhaust Gas Temp',
        'Temp',
        'ExhaustGas',
        'Outlet',
        'TE-16',
        'Exhaust gas temperature after cylinder',
        'qty-temperature/cnt-exhaust.gas/pos-outlet',
      ),
      unit: '°C',
      low: 0,
      high: 600,
      scale: 0.1,
      pace: 'fast',
      jitter: true,
      value: follows('load', 2.55, 168 + spread * 1.6, 3, 1),
    },
    {
      ...of(
        'Jacket Water Temp',
        'Temp',
        'CoolingWater',
        'Outlet',
        'TE-21',
        'Jacket cooling water temperature after cylinder',
        'qty-temperature/cnt-cooling.water/pos-outlet',
      ),
      unit: '°C',
      low: 0,
      high: 120,
      scale: 0.1,
      pace: 'normal',
      jitter: true,
      value: follows('load', 0.11, 76 + spread * 0.2, 0.5, 1),
    },
    {
      ...of(
        'Piston Cooling Oil Temp',
        'Temp',
        'LubOil',
        'Outlet',
        'TE-25',
        'Piston cooling oil temperature after cylinder',
        'qty-temperature/cnt-lubricating.oil/pos-outlet',
      ),
      unit: '°C',
      low: 0,
      high: 100,
      scale: 0.1,
      pace: 'normal',
      jitter: false,
      value: follows('load', 0.13, 46 + spread * 0.2, 0.4, 2),
    },
    {
      ...of(
        'Max Pressure',
        'Press',
        'Combustion',
        '',
        'PE-31',
        'Maximum combustion pressure of cylinder',
        'qty-pressure/cnt-gas/state-maximum',
      ),
      unit: 'bar',
      low: 0,
      high: 220,
      scale: 0.1,
      pace: 'normal',
      jitter: true,
      value: follows('load', 1.15, 52 + spread * 0.5, 1.2, 1),
    },
    {
      ...of(
        'Scavenge Box Temp',
        'Temp',
        'ScavengeAir',
        'Inlet',
        'TE-45',
        'Scavenge air box temperature of cylinder',
        'qty-temperature/cnt-scavenging.air/pos-inlet',
      ),
      unit: '°C',
      low: 0,
      high: 160,
      scale: 1,
      pace: 'slow',
      jitter: false,
      value: follows('load', 0.16, 34 + spread * 0.3, 0.5, 0),
    },
  ];
}
