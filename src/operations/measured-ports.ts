/** Ports whose work is timed for the metrics. */
import type { Encoder } from '../encode/index.ts';
import type { ExportPorts } from '../export/ports.ts';
import type { Metrics } from './metrics.ts';

/** The same ports, telling the metrics how long row groups and parts take. */
export function measurePorts(ports: ExportPorts, metrics: Metrics): ExportPorts {
  const { clock } = ports;
  const store = Object.create(ports.store) as typeof ports.store;
  store.uploadPart = async (upload, partNumber, bytes) => {
    const startedMs = clock.monotonicMs();
    const part = await ports.store.uploadPart(upload, partNumber, bytes);
    metrics.onUploaded((clock.monotonicMs() - startedMs) / 1_000, bytes.length);
    return part;
  };
  const encoder: Encoder = {
    ...ports.encoder,
    async encode(job) {
      const startedMs = clock.monotonicMs();
      const answer = await ports.encoder.encode(job);
      metrics.onEncoded((clock.monotonicMs() - startedMs) / 1_000);
      return answer;
    },
  };
  return { ...ports, store, encoder };
}
