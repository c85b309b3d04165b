/** Measurements. */
import { expect } from 'vitest';
import { VESSEL } from '../running-service.ts';
import { DAY, HOUR, NEW, OLD, points, type Rows, status, TIMESTAMP, uuidOf } from './row.ts';

export const MEASUREMENTS: Rows = {
  async 'a point has id, timestamp in microseconds and value'(s) {
    for (const point of await points(s, `/measurements/flat/${VESSEL}/*?${HOUR}`)) {
      expect(Object.keys(point)).toEqual(['id', 'timestamp', 'value']);
      expect(point.timestamp).toMatch(TIMESTAMP);
    }
  },
  async 'points are ordered by timestamp; series are interleaved'(s) {
    const found = await points(s, `/measurements/flat/${VESSEL}/*?${DAY}`);
    const times = found.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort());
    const changes = found.filter((point, i) => i > 0 && point.id !== found[i - 1]!.id).length;
    expect(changes).toBeGreaterThan(new Set(found.map(({ id }) => id)).size * 2);
  },
  async 'without a time range: the last hour up to now'(s) {
    const found = await points(s, `/measurements/flat/${VESSEL}/*`);
    expect(found).toEqual(
      await points(s, `/measurements/flat/${VESSEL}/*?from=2026-01-07T11:00&to=2026-01-07T12:00`),
    );
    expect(found).not.toHaveLength(0);
  },
  async 'GET /measurements/id/{ids}'(s) {
    const id = await uuidOf(s, 'Heading');
    const found = await points(s, `/measurements/id/${id}?${DAY}`);
    expect(new Set(found.map((point) => point.id))).toEqual(new Set([id]));
  },
  async 'POST /measurements/query: all expressions in one answer, each series once'(s) {
    const id = await uuidOf(s, 'Heading');
    const alone = await points(s, `/measurements/flat/${VESSEL}/Heading?${DAY}`);
    const response = await s.post(`/measurements/query?${DAY}`, [
      `flat/${VESSEL}/Heading`,
      `id/${id}`,
      `flat/${VESSEL}/Head*`,
    ]);
    expect(await response.json()).toEqual(alone);
  },
  async 'output_domain answers ids of another domain and leaves out series without a name there'(s) {
    const found = await points(s, `/measurements/maker/${VESSEL}/*/*?${HOUR}&output_domain=flat`);
    const ids = new Set(found.map(({ id }) => id));
    expect([...ids].every((id) => id.startsWith(`${VESSEL}/`))).toBe(true);
    const all = await points(s, `/measurements/maker/${VESSEL}/*/*?${HOUR}`);
    expect(found.length).toBeLessThan(all.length);
    expect(await points(s, `/measurements/maker/${VESSEL}/*/*?${HOUR}&output_domain=id`)).toHaveLength(
      all.length,
    );
    expect(await status(s, `/measurements/maker/${VESSEL}/*/*?output_domain=nothing`)).toBe(400);
  },
  async 'ndjson: one object per line, the same as the elements of json'(s) {
    const response = await s.get(`/measurements/flat/${VESSEL}/*?${HOUR}&format=ndjson`);
    expect(response.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    const text = await response.text();
    const json = await s.text(`/measurements/flat/${VESSEL}/*?${HOUR}`);
    expect(`[${text.trimEnd().split('\n').join(',')}]`).toBe(json);
  },
  async 'measurements are the same in both versions'(s) {
    const path = `/measurements/flat/${VESSEL}/*?${HOUR}`;
    expect(await s.text(path, OLD)).toBe(await s.text(path, NEW));
  },
  async 'decision: a series without readings in the range answers 200 and an empty array'(s) {
    const path = `/measurements/flat/${VESSEL}/Heading?from=2019-01-01&to=2019-01-02`;
    expect(await s.text(path)).toBe('[]');
    expect(await s.text(`${path}&format=ndjson`)).toBe('');
  },
  async 'integers, floating point, beyond 2^53, JSON objects and text keep their kinds'(s) {
    const text = async (tag: string) =>
      await s.text(`/measurements/flat/${VESSEL}/${encodeURIComponent(tag)}?${DAY}&format=ndjson`);
    expect(await text('ME Fuel Oil Counter')).toMatch(/"value":90\d{14}\}/);
    expect(await text('ME Turbocharger Speed')).toMatch(/"value":\d+\}/);
    expect(await text('AE1 Speed')).toMatch(/"value":\d+\.0\}/);
    expect(await text('GPS Position')).toMatch(/"value":\{"lat":-?\d+\.\d{5},"lon":-?\d+\.\d{5}\}\}/);
    expect(await text('Maskintelegraf Ærø')).toMatch(/"value":"Full ahead"\}/);
    expect(await text('ME Running')).toMatch(/"value":(true|false)\}/);
  },
};
