/** Every series of a vessel. */
import type { SeriesTemplate } from '../template.ts';
import { cylinderTemplates } from './cylinder-templates.ts';
import { fuelTemplates } from './fuel-templates.ts';
import { generatorTemplates } from './generator-templates.ts';
import { mainEngineTemplates } from './main-engine-templates.ts';
import { navigationTemplates } from './navigation-templates.ts';
import { shaftTemplates } from './shaft-templates.ts';
import { oddTemplates, tankTemplates } from './tank-templates.ts';
import { weatherTemplates } from './weather-templates.ts';

const GENERATORS = [1, 2, 3];

export function vesselTemplates(cylinders: number): SeriesTemplate[] {
  const numbers = Array.from({ length: cylinders }, (_, index) => index + 1);
  return [
    ...numbers.flatMap(cylinderTemplates),
    ...mainEngineTemplates(),
    ...shaftTemplates(),
    ...navigationTemplates(),
    ...weatherTemplates(),
    ...fuelTemplates(),
    ...GENERATORS.flatMap(generatorTemplates),
    ...tankTemplates(),
    ...oddTemplates(),
  ];
}
