/** Statistics. */
import { expect } from 'vitest';
import { VESSEL } from '../running-service.ts';
import type { Rows, Statistic } from './row.ts';
import { DAY, NEW, OLD, points, series, statistics, status, TIMESTAMP, uuidOf } from './row.ts';

export const STATISTICS: Rows = {
  async 'before 2026-09-10: timestamp and one property per object'(s) {
    const id = await uuidOf(s, 'Heading');
    const byId = (await s.json(
      `/statistics/id/${id}?${DAY}&window=1d&aggregations=min,max,first_time`,
      OLD,
    )) as object[];
    expect(byId.map((row) => Object.keys(row))).toEqual(
      ['min', 'max', 'first_time'].map((aggregation) => ['timestamp', `${id}:${aggregation}`]),
    );
    const byTag = (await s.json(
      `/statistics/flat/${VESSEL}/Heading?${DAY}&window=1d&aggregations=avg,first_time`,
      OLD,
    )) as object[];
    expect(byTag.map((row) => Object.keys(row)[1])).toEqual([
      `${VESSEL}/Heading/Avg`,
      `${VESSEL}/Heading/First_time`,
    ]);
  },
  async 'keys follow the output domain'(s) {
    const id = await uuidOf(s, 'Heading');
    const rows = (await s.json(
      `/statistics/flat/${VESSEL}/Heading?${DAY}&window=1d&output_domain=id`,
      OLD,
    )) as object[];
    expect(Object.keys(rows[0]!)[1]).toBe(`${id}:avg`);
  },
  async 'in one answer of several domains each key follows its own'(s) {
    const id = await uuidOf(s, 'Roll');
    const response = await s.post(
      `/statistics/query?${DAY}&window=1d`,
      [`flat/${VESSEL}/Heading`, `id/${id}`],
      OLD,
    );
    const keys = ((await response.json()) as object[]).map((row) => Object.keys(row)[1]);
    expect(keys.sort()).toEqual([`${VESSEL}/Heading/Avg`, `${id}:avg`].sort());
  },
  async 'decision: windows are minutes to years; what is none of them is refused'(s) {
    for (const window of ['1x', '0d', 'd', '1.5h', '-1d', '999999y', ''])
      expect(await status(s, `/statistics/flat/${VESSEL}/Heading?${DAY}&window=${window}`)).toBe(400);
    for (const window of ['1m', '30min', '2h', '2d', '1w', '3months', '1y', 'NONE'])
      expect((await s.get(`/statistics/flat/${VESSEL}/Heading?${DAY}&window=${window}`)).status).toBe(200);
  },
  async 'before 2026-09-10 series that share an id give objects with the same key and timestamp'(s) {
    const rows = (await s.json(
      `/statistics/flat/${VESSEL}/Wind%20Speed?${DAY}&window=1d&aggregations=count`,
      OLD,
    )) as object[];
    expect(rows.map((row) => Object.keys(row)[1])).toEqual([
      `${VESSEL}/Wind Speed/Count`,
      `${VESSEL}/Wind Speed/Count`,
    ]);
  },
  async '2026-09-10: timestamp, id, aggregations in lower case'(s) {
    const [row] = await statistics(
      s,
      `/statistics/flat/${VESSEL}/Heading?${DAY}&window=1d&aggregations=Mean,COUNT`,
    );
    expect(Object.keys(row!)).toEqual(['timestamp', 'id', 'aggregations']);
    expect(Object.keys(row!.aggregations)).toEqual(['mean', 'count']);
    expect(row!.timestamp).toBe('2026-01-05T00:00:00.000000Z');
  },
  async '2026-09-10 merges series that share an id, unless output_domain=id'(s) {
    const path = `/statistics/flat/${VESSEL}/Wind%20Speed?${DAY}&window=1d&aggregations=count,sum`;
    const merged = await statistics(s, path);
    const apart = await statistics(s, `${path}&output_domain=id`);
    expect(merged).toHaveLength(1);
    expect(apart).toHaveLength(2);
    const counts = apart.map(({ aggregations }) => aggregations.count as number);
    expect(merged[0]!.aggregations.count).toBe(counts[0]! + counts[1]!);
  },
  async 'default aggregation: avg before 2026-09-10, mean from then on'(s) {
    const path = `/statistics/flat/${VESSEL}/Heading?${DAY}&window=1d`;
    expect(Object.keys(((await s.json(path, OLD)) as object[])[0]!)[1]).toBe(`${VESSEL}/Heading/Avg`);
    expect(Object.keys((await statistics(s, path))[0]!.aggregations)).toEqual(['mean']);
  },
  async 'aggregation is an alias of aggregations'(s) {
    const path = `/statistics/flat/${VESSEL}/Heading?${DAY}&window=1d`;
    expect(await s.text(`${path}&aggregation=sum,min`)).toBe(await s.text(`${path}&aggregations=sum,min`));
    expect(await status(s, `${path}&aggregation=sum&aggregations=sum`)).toBe(400);
    expect(await status(s, `${path}&aggregation=median`)).toBe(400);
  },
  async 'default window 1month'(s) {
    const found = await statistics(s, `/statistics/flat/${VESSEL}/Heading?from=2025-11-01&to=2026-01-01`);
    expect(found.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual(['2025-11-01', '2025-12-01']);
  },
  async 'decision: default range of statistics is the last full window'(s) {
    const found = await statistics(s, `/statistics/flat/${VESSEL}/Heading?window=1d`);
    expect(found.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual(['2026-01-06']);
    expect(await statistics(s, `/statistics/flat/${VESSEL}/Heading`)).toHaveLength(1);
  },
  async 'window none: one window over the whole range, edges ignored'(s) {
    const path = `/statistics/flat/${VESSEL}/Heading?from=2026-01-05T01:02:03&to=2026-01-06T04:05:06&window=none&aggregations=count`;
    const found = await statistics(s, path);
    expect(found.map(({ timestamp }) => timestamp)).toEqual(['2026-01-05T01:02:03.000000Z']);
    expect(await statistics(s, `${path}&window_edges=partial`)).toEqual(found);
  },
  async 'whole edges: the leading partial window is dropped, the trailing one is full'(s) {
    const base = `/statistics/flat/${VESSEL}/ME%20Load?window=1h&aggregations=count`;
    const whole = await statistics(s, `${base}&from=2026-01-05T00:30&to=2026-01-05T03:10`);
    const exact = await statistics(s, `${base}&from=2026-01-05T01:00&to=2026-01-05T04:00`);
    expect(whole).toEqual(exact);
    expect(exact.map(({ timestamp }) => timestamp.slice(11, 16))).toEqual(['01:00', '02:00', '03:00']);
  },
  async 'partial edges: the range is used exactly'(s) {
    const base = `/statistics/flat/${VESSEL}/ME%20Load?window=1h&aggregations=count,first_time,last_time&window_edges=partial`;
    const found = await statistics(s, `${base}&from=2026-01-05T00:30&to=2026-01-05T02:10`);
    expect(found.map(({ timestamp }) => timestamp.slice(11, 16))).toEqual(['00:00', '01:00', '02:00']);
    expect(String(found[0]!.aggregations.first_time) >= '2026-01-05T00:30').toBe(true);
    expect(String(found[2]!.aggregations.last_time) < '2026-01-05T02:10').toBe(true);
    const raw = await points(
      s,
      `/measurements/flat/${VESSEL}/ME%20Load?from=2026-01-05T00:30&to=2026-01-05T02:10`,
    );
    expect(found.reduce((sum, { aggregations }) => sum + (aggregations.count as number), 0)).toBe(raw.length);
  },
  async 'JSON series have count, first and last values and times, and lack the others'(s) {
    const all =
      'avg,count,delta,first_time,first_val,integral,kurtosis,last_time,last_val,max,mean,min,skewness,stddev,sum,var';
    const id = (await series(s, `/metadata/maker/${VESSEL}/nav/GGA-1`))[0]!.timeSeriesId;
    const [row] = await statistics(s, `/statistics/id/${id}?${DAY}&window=1d&aggregations=${all}`);
    expect(Object.keys(row!.aggregations)).toEqual([
      'count',
      'first_time',
      'first_val',
      'last_time',
      'last_val',
    ]);
    expect(row!.aggregations.first_val).toHaveProperty('lat');
  },
  async 'time-valued aggregations are date-time strings'(s) {
    const [row] = await statistics(
      s,
      `/statistics/flat/${VESSEL}/Heading?${DAY}&window=1d&aggregations=first_time,last_time`,
    );
    expect(row!.aggregations.first_time).toMatch(TIMESTAMP);
    expect(row!.aggregations.last_time).toMatch(TIMESTAMP);
  },
  async 'both path parameters of flat are optional'(s) {
    const all = await statistics(s, `/statistics/flat?${DAY}&window=1d&aggregations=count`);
    const one = await statistics(s, `/statistics/flat/${VESSEL}?${DAY}&window=1d&aggregations=count`);
    expect(all.length).toBeGreaterThan(one.length);
    expect(one).toEqual(
      await statistics(s, `/statistics/flat/${VESSEL}/*?${DAY}&window=1d&aggregations=count`),
    );
  },
  async 'vis-3-8a: imo, primary, sec, secondary, meta, metadata, all optional'(s) {
    const ids = async (path: string) =>
      (await statistics(s, `/statistics/vis-3-8a${path}?${DAY}&window=1d&aggregations=count`)).map(
        ({ id }) => id,
      );
    const all = await ids('');
    const one = await ids(`/${VESSEL}`);
    expect(all.length).toBeGreaterThan(one.length);
    const aux = `${VESSEL}/411.2-1/C101`;
    expect(await ids(`/${aux}/sec/411.2-1/C101.72/meta/qty-temp/cnt-coolingwater`)).toEqual([
      `${aux}/sec/411.2-1/C101.72/meta/qty-temp/cnt-coolingwater`,
    ]);
    expect(await ids(`/${aux}/sec/meta/qty-temp/*`)).toEqual(
      expect.arrayContaining([
        `${aux}/sec/411.2-1/C101.72/meta/qty-temp/cnt-coolingwater`,
        `${aux}/meta/qty-temp/cnt-generator`,
      ]),
    );
    const withoutSecondary = await ids(`/${aux}/meta/qty-temp/*`);
    expect(withoutSecondary).not.toHaveLength(0);
    expect(withoutSecondary.some((id) => id.includes('/sec/'))).toBe(false);
    expect((await ids(`/${aux}`)).length).toBeGreaterThan(withoutSecondary.length);
  },
  async 'POST /statistics/query'(s) {
    const response = await s.post(
      `/statistics/query?${DAY}&window=1d&aggregations=count`,
      [`flat/${VESSEL}/Heading`, `flat/${VESSEL}/Roll`],
      NEW,
    );
    expect(((await response.json()) as Statistic[]).map(({ id }) => id).sort()).toEqual([
      `${VESSEL}/Heading`,
      `${VESSEL}/Roll`,
    ]);
  },
  async 'csv and html'(s) {
    const path = `/statistics/flat/${VESSEL}/Heading?${DAY}&window=12h&aggregations=count,first_time`;
    const csv = (await s.text(`${path}&format=csv`)).split('\r\n');
    expect(csv[0]).toBe('timestamp,id,count,first_time');
    expect(csv[1]).toMatch(/^2026-01-05T00:00:00\.000000Z,IMO9321483\/Heading,\d+,2026-01-05T/);
    expect(csv).toHaveLength(4);
    const html = await s.get(`${path}&format=html`);
    expect(html.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await html.text()).toContain('<td>IMO9321483/Heading</td>');
  },
  async 'ndjson lines are the elements of json'(s) {
    const path = `/statistics/flat/${VESSEL}/*?${DAY}&window=6h&aggregations=count`;
    const text = await s.text(`${path}&format=ndjson`, NEW);
    expect(JSON.parse(`[${text.trimEnd().split('\n').join(',')}]`)).toEqual(await s.json(path, NEW));
  },
};
