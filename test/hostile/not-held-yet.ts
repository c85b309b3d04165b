/** Honest requests wait in vain while the service works on something large. */
export const SOAK_UNANSWERED = 'soak: no answer beside large work';

/**
 * Inputs of the short form that are known not to hold: the test is about all others. `npm run hostile` knows no such
 * list. What is mended is taken out; when nothing is left, so is this file.
 */
export const NOT_HELD_YET: readonly string[] = [
  SOAK_UNANSWERED,
  'service, clients that leave: 20 clients leave at once: a year of NDJSON',
  'service, clients that leave: 20 clients leave at once: four vessel-years of Parquet',
  'service, clients that leave: 4 clients leave at the first byte: four years of statistics',
  'service, slow clients: 40 × clients that ask for a year and read nothing',
  'exporter, names: id in statistics: 300 kB',
];
