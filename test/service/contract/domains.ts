/** Domains, ids, wildcards. */
import { expect } from 'vitest';
import { VESSEL } from '../running-service.ts';
import { DAY, HOUR, NEW, type Point, type Rows, refusal, series, status, uuidOf } from './row.ts';

export const DOMAINS: Rows = {
  async 'a query can match one or many series; wildcards are allowed in GET paths'(s) {
    expect(await series(s, `/metadata/flat/${VESSEL}/Heading`)).toHaveLength(1);
    expect((await series(s, `/metadata/flat/*/Heading`)).map(({ id }) => id).sort()).toHaveLength(2);
  },
  async 'wildcards are allowed in POST bodies'(s) {
    const response = await s.post('/metadata/query', [`flat/*/Heading`], NEW);
    expect(await response.json()).toHaveLength(2);
  },
  async '`*` matches exactly one hierarchy level'(s) {
    expect(await series(s, `/metadata/maker/${VESSEL}/*/THS`)).toHaveLength(1);
    expect(await status(s, `/metadata/maker/${VESSEL}/*`)).toBe(400);
    expect(await status(s, `/metadata/vis-3-8a/${VESSEL}/*`)).toBe(404);
    expect(await series(s, `/metadata/vis-3-8a/${VESSEL}/*/*/meta/*`)).not.toHaveLength(0);
  },
  async 'a tag name may contain `*`'(s) {
    const found = await series(s, `/metadata/flat/${VESSEL}/Shaft%20*`);
    expect(found.map(({ id }) => id).sort()).toEqual(
      ['Power', 'Revolutions', 'Speed', 'Thrust', 'Torque'].map((tag) => `${VESSEL}/Shaft ${tag}`),
    );
  },
  async 'domain id: a comma-separated list of UUIDs'(s) {
    const [a, b] = [await uuidOf(s, 'Heading'), await uuidOf(s, 'Roll')];
    const found = await series(s, `/metadata/id/${a},${b}`);
    expect(found.map(({ id }) => id).sort()).toEqual([a, b].sort());
    expect((await series(s, `/metadata/id/${a}%2C${b.toUpperCase()}`)).length).toBe(2);
  },
  async 'decision: what is no UUID in the domain id is refused'(s) {
    expect(await status(s, '/metadata/id/heading')).toBe(400);
    expect(await status(s, '/metadata/id/00000000-0000-4000-8000-000000000000')).toBe(404);
  },
  async 'domain jsmea: eight levels, an id ends with a slash when the modifier is empty'(s) {
    const [heading] = await series(s, `/metadata/flat/${VESSEL}/Heading`);
    expect(heading!.domains.jsmea!.id).toBe(`${VESSEL}/jsmea_nav/Navigation/Gyro///Heading/`);
  },
  async 'jsmea: eight optional path levels, each may be `*`'(s) {
    const all = await series(s, `/metadata/jsmea/${VESSEL}`);
    const some = await series(s, `/metadata/jsmea/${VESSEL}/*/Navigation/Gyro`);
    expect(some.map(({ id }) => id).sort()).toEqual([
      `${VESSEL}/jsmea_nav/Navigation/Gyro///Heading/`,
      `${VESSEL}/jsmea_nav/Navigation/Gyro///RateOfTurn/`,
    ]);
    expect(all.length).toBeGreaterThan(some.length);
    expect((await series(s, '/metadata/jsmea')).length).toBeGreaterThan(all.length);
    expect(await series(s, `/metadata/jsmea/${VESSEL}/*/*/*/*/*/*/*`)).toHaveLength(all.length);
    expect(await status(s, `/metadata/jsmea/${VESSEL}/*/*/*/*/*/*/*/*`)).toBe(400);
  },
  async 'only POST supports jsmea ids with empty hierarchy levels'(s) {
    const id = `${VESSEL}/jsmea_nav/Navigation/Gyro///Heading/`;
    const refused = await refusal(await s.get(`/measurements/jsmea/${id}?${HOUR}`));
    expect(refused.status).toBe(400);
    expect(refused.error).toContain('POST');
    const found = (await (await s.post(`/measurements/query?${HOUR}`, [`jsmea/${id}`])).json()) as Point[];
    expect(new Set(found.map((point) => point.id))).toEqual(new Set([id]));
  },
  async 'flat: in URLs a space is written %20'(s) {
    expect(await series(s, `/metadata/flat/${VESSEL}/ME%20Load`)).toHaveLength(1);
  },
  async 'decision: %2F stays inside a tag, and a tag may be given with its slash'(s) {
    for (const tag of ['Fuel%2FDistance%20Ratio', 'Fuel/Distance%20Ratio'])
      expect((await series(s, `/metadata/flat/${VESSEL}/${tag}`))[0]!.id).toBe(
        `${VESSEL}/Fuel/Distance Ratio`,
      );
  },
  async 'tags may hold letters beyond ASCII'(s) {
    const found = await series(s, `/metadata/flat/${VESSEL}/${encodeURIComponent('Maskintelegraf Ærø')}`);
    expect(found[0]!.id).toBe(`${VESSEL}/Maskintelegraf Ærø`);
  },
  async 'vis-3-8a: vessel, item path, meta and its elements'(s) {
    const id = `${VESSEL}/411.1/C101.31-1/meta/qty-temperature/cnt-exhaust.gas/pos-outlet`;
    expect((await series(s, `/metadata/vis-3-8a/${id}`)).map((found) => found.id)).toEqual([id]);
  },
  async 'verbose ids: name elements prefixed with ~ in the item path'(s) {
    const id = `${VESSEL}/411.1/C101.31-1/meta/qty-temperature/cnt-exhaust.gas/pos-outlet`;
    const [found] = await series(s, `/metadata/vis-3-8a/${id}?verbose=true`);
    expect(found!.id).toMatch(/\/~[^/]+\/.*\/meta\//);
    expect(
      found!.id
        .split('/')
        .filter((level) => !level.startsWith('~'))
        .join('/'),
    ).toBe(id);
    const [again] = await series(s, `/metadata/vis-3-8a/${found!.id}`);
    expect(again!.id).toBe(id);
  },
  async 'verbose ids in measurements and statistics too; without verbose they are plain, also in output_domain'(
    s,
  ) {
    const id = `${VESSEL}/411.1/C101.31-1/meta/qty-temperature/cnt-exhaust.gas/pos-outlet`;
    const [found] = await series(s, `/metadata/vis-3-8a/${id}?verbose=true`);
    for (const [verbose, named] of [
      ['', id],
      ['&verbose=false', id],
      ['&verbose=true', found!.id],
    ]) {
      const ids = async (path: string) =>
        new Set(((await s.json(`${path}${verbose}`, NEW)) as { id: string }[]).map((one) => one.id));
      expect(await ids(`/measurements/vis-3-8a/${id}?${DAY}`)).toEqual(new Set([named]));
      expect(await ids(`/statistics/vis-3-8a/${id}?${DAY}&window=1d`)).toEqual(new Set([named]));
      const byId = `id/${found!.timeSeriesId}?${DAY}&output_domain=vis-3-8a`;
      expect(await ids(`/measurements/${byId}`)).toEqual(new Set([named]));
    }
  },
  async 'domains without verbose ids ignore verbose'(s) {
    expect((await series(s, `/metadata/flat/${VESSEL}/Heading?verbose=true`))[0]!.id).toBe(
      `${VESSEL}/Heading`,
    );
    expect(await status(s, `/metadata/flat/${VESSEL}/Heading?verbose=yes`)).toBe(400);
  },
  async 'decision: parameters names several tags of one GET in braces'(s) {
    const found = await series(
      s,
      `/metadata/parameters/${VESSEL}/${encodeURIComponent('{Heading,ME {Load,Running}}')}`,
    );
    expect(found.map(({ id }) => id).sort()).toEqual(
      ['Heading', 'ME Load', 'ME Running'].map((tag) => `${VESSEL}/${tag}`),
    );
  },
  async 'maker: vessel, source and code in the generic form'(s) {
    const [found] = await series(s, `/metadata/maker/${VESSEL}/nav/THS`);
    expect(found!.domains.flat!.id).toBe(`${VESSEL}/Heading`);
  },
  async 'a series with no name in a domain is absent from its results and from `domains`'(s) {
    const all = await series(s, `/metadata/maker/${VESSEL}/*/*`);
    const nameless = all.filter(({ domains }) => domains.flat === undefined);
    expect(nameless).not.toHaveLength(0);
    const tagged = new Set(
      (await series(s, `/metadata/flat/${VESSEL}/*`)).map(({ timeSeriesId }) => timeSeriesId),
    );
    for (const { timeSeriesId } of nameless) expect(tagged.has(timeSeriesId)).toBe(false);
  },
  async 'one query can match several series that share one id'(s) {
    const found = await series(s, `/metadata/flat/${VESSEL}/Wind%20Speed`);
    expect(found.map(({ id }) => id)).toEqual([`${VESSEL}/Wind Speed`, `${VESSEL}/Wind Speed`]);
    expect(new Set(found.map(({ timeSeriesId }) => timeSeriesId)).size).toBe(2);
  },
};
