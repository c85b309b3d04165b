/** Series of the tanks, and the odd ones that keep readers honest. */
import type { SeriesTemplate } from '../template.ts';
import { follows } from '../template.ts';

export function tankTemplates(): SeriesTemplate[] {
  const tanks = [
    'HFO Tank 1P',
    'HFO Tank 1S',
    'HFO Tank 2P',
    'HFO Tank 2S',
    'MGO Tank',
    'LO Sump Tank',
    'Fresh Water Tank',
    'Ballast 1P',
    'Ballast 1S',
    'Ballast 2P',
    'Ballast 2S',
    'Aft Peak',
  ];
  return tanks.map((tank, n) => {
    const ballast = tank.startsWith('Ballast') || tank === 'Aft Peak';
    return {
      // The last tanks are known to the maker only: series without a name in `flat` and `jsmea`.
      ...(n < 10 ? { tag: `${tank} Level` } : {}),
      ...(n < 8
        ? { jsmea: ['jsmea_mac', 'Tank', tank.replaceAll(' ', ''), '', '', 'Level', ''] as const }
        : {}),
      maker: {
        code: `LE-90${String(n + 1).padStart(2, '0')}`,
        name: `${tank.toUpperCase()} LEVEL`,
        text: `${tank}: level by radar`,
      },
      source: 'mac',
      unit: '%',
      low: 0,
      high: 100,
      scale: 0.1,
      pace: 'slow',
      jitter: false,
      value: ballast ? follows('cargo', -0.9, 96 - n, 0.3, 1) : follows('bunker', 0.92 - 0.03 * n, 4, 0.2, 1),
    } as const;
  });
}

export function oddTemplates(): SeriesTemplate[] {
  return [
    {
      tag: 'Fuel/Distance Ratio',
      source: 'calc',
      unit: 'kg/nm',
      low: 0,
      high: 1000,
      scale: 1,
      maker: { code: 'CALC/1', name: 'FUEL DISTANCE RATIO', text: 'Fuel per nautical mile at service speed' },
      pace: 'slow',
      jitter: false,
      value: follows('atSea', 55, 2, 2, 1),
    },
    {
      tag: 'Alarm State',
      maker: { code: 'XA-0001', name: 'ALARM STATE', text: 'Alarm system summary' },
      source: 'mac',
      pace: 'rare',
      jitter: true,
      value: {
        kind: 'choice',
        texts: [
          '{"active":0,"texts":[]}',
          '{"active":1,"texts":["AE2 LO press, low"]}',
          '{"active":2,"texts":["Bilge \\"aft\\"","Færøsund } test"]}',
        ],
      },
    },
    // Known by nothing but its time series id.
    { source: 'mac', pace: 'rare', jitter: true, value: follows('seaTemperature', 1, 0, 0.5, 3) },
    {
      tag: 'Shore Connection',
      source: 'mac',
      pace: 'rare',
      jitter: false,
      value: { kind: 'flag', driver: 'atSea', above: 1.5 },
    },
  ];
}
