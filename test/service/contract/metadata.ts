/** Metadata. */
import { expect } from 'vitest';
import { VESSEL } from '../running-service.ts';
import { NEW, OLD, type Rows, type Series, status } from './row.ts';

export const METADATA: Rows = {
  async 'before 2026-09-10: an object keyed by id with the listed fields'(s) {
    const body = (await s.json(`/metadata/flat/${VESSEL}/Shaft%20Power`, OLD)) as Record<
      string,
      Record<string, unknown>
    >;
    const fields = body[`${VESSEL}/Shaft Power`]!;
    expect(Object.keys(fields)).toEqual([
      ...'name description source scale uom mapsTo rangeHigh rangeLow timeSeriesId vesselImo'.split(' '),
      ...'vesselName'.split(' '),
    ]);
    expect(Object.keys(fields.mapsTo as object)).toEqual(
      expect.arrayContaining(['jsmea', 'flat', 'maker', 'id']),
    );
  },
  async 'series sharing an id become repeated keys'(s) {
    const text = await s.text(`/metadata/flat/${VESSEL}/Wind%20Speed`, OLD);
    expect(text.split(`"${VESSEL}/Wind Speed":{`)).toHaveLength(3);
  },
  async '2026-09-10: an array, one element per series, with the listed fields'(s) {
    const [found] = (await s.json(`/metadata/flat/${VESSEL}/Shaft%20Power`, NEW)) as Record<
      string,
      unknown
    >[];
    expect(Object.keys(found!)).toEqual([
      ...'id timeSeriesId source dataProvider unitOfMeasure scale vessel domains'.split(' '),
    ]);
    expect(found!.vessel).toEqual({ name: 'Nordlys', imo: '9321483' });
    expect(found!.domains).toMatchObject({
      jsmea: {
        namingRule: 'jsmea_mac',
        category: 'Propulsion',
        subcategory: 'Shaft',
        content: '',
        item: 'Power',
      },
      flat: { id: `${VESSEL}/Shaft Power`, shortName: 'Shaft Power' },
      maker: { name: 'SHAFT POWER', rangeHigh: 30000, rangeLow: 0 },
    });
  },
  async 'rangeHigh and rangeLow always have a decimal part'(s) {
    for (const version of [OLD, NEW]) {
      const text = await s.text(`/metadata/flat/${VESSEL}/*`, version);
      expect(text).toMatch(/"rangeHigh":30000\.0,"rangeLow":0\.0/);
      expect(text).not.toMatch(/"range(High|Low)":-?\d+[,}]/);
    }
  },
  async 'ndjson only in 2026-09-10, a line per series'(s) {
    const text = await s.text(`/metadata/flat/${VESSEL}/*?format=ndjson`, NEW);
    expect(JSON.parse(`[${text.trimEnd().split('\n').join(',')}]`)).toEqual(
      await s.json(`/metadata/flat/${VESSEL}/*`, NEW),
    );
    expect(await status(s, `/metadata/flat/${VESSEL}/*?format=ndjson`, OLD)).toBe(406);
  },
  async 'format=csv on metadata gives 406, parquet too'(s) {
    expect(await status(s, `/metadata/flat/${VESSEL}/*?format=csv`)).toBe(406);
    expect(await status(s, `/metadata/flat/${VESSEL}/*?format=parquet`, NEW)).toBe(406);
  },
  async 'decision: POST /metadata/query works as for the other families'(s) {
    const response = await s.post('/metadata/query', [`flat/${VESSEL}/Heading`, `flat/${VESSEL}/Roll`], NEW);
    expect(((await response.json()) as Series[]).map(({ id }) => id).sort()).toEqual([
      `${VESSEL}/Heading`,
      `${VESSEL}/Roll`,
    ]);
  },
};
