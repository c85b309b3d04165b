/** The jobs of the demo: its own, whatever lies in a folder of jobs. */
import type { JobDefinitions } from '../../runtime/config/config.ts';

const FLEET = { vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/*'] };

export const DEMO_JOBS: JobDefinitions = {
  measurements: { dataset: 'measurements', ...FLEET },
  metadata: { dataset: 'metadata', ...FLEET },
  statistics: {
    ...{ dataset: 'statistics', ...FLEET },
    ...{ window: '10m', aggregations: ['mean', 'min', 'max', 'count'] },
  },
};
