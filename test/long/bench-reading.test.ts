/** The figures of reading a lake are of what they say. No time is asserted. */
import { expect, test } from 'vitest';
import { measureReading } from '../bench/reading.ts';
import { newTempFolder } from '../helpers/temp.ts';

test('each is of a command that has read what is there', async () => {
  await using temp = await newTempFolder();
  const said: string[] = [];
  const voice = { say: (text: string) => void said.push(text), progress() {} };
  const sizes = {
    ...{ vessels: 40, days: 3, yearVessels: 20, yearDays: 40, settleMs: 0, isS3: false },
    ...{ deepVessels: 2, deepDays: 2, deepReadings: 2_000 },
  };
  const figures = await measureReading(temp.path, sizes, new AbortController().signal, voice);
  expect(figures.map(({ what, vesselDays }) => [what, vesselDays])).toEqual([
    ['status, the first after those who published', 120],
    ['status, again', 120],
    ['status --json, again', 120],
    ['reconcile', 120],
    ['status, without any index', 120],
    ['status --json of a year', 800],
    ["the page's map of a year, look 1", 800],
    ["the page's map of a year, look 2", 800],
    ["the page's map of a year, look 3", 800],
    ['verify', 4],
    ['verify --deep', 4],
  ]);
  for (const { cpuMs, wallMs, peakRssBytes } of figures) {
    expect(cpuMs).toBeGreaterThan(0);
    expect(wallMs).toBeGreaterThan(0);
    expect(peakRssBytes).toBeGreaterThan(40e6);
  }
  for (const { what } of figures) expect(said.join('')).toContain(what);
  // A look without anything new costs less than the first one.
  const looks = figures.filter(({ what }) => what.startsWith("the page's map"));
  expect(looks[2]!.cpuMs).toBeLessThan(looks[0]!.cpuMs);
});
