/** A file in the place of each object and nowhere else, without a folder for each. */
import { lstat, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEmptyFiles } from '../../../src/query/sql/planned-files.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const { signal } = new AbortController();

test('vessels with the same dates share them, and what is gone is gone', async () => {
  await using temp = await newTempFolder();
  const template = join(temp.path, 'template');
  await writeFile(template, '');
  const dir = join(temp.path, 'places');
  await mkdir(dir);
  const place = createEmptyFiles(
    dir,
    new Map([
      ['a', template],
      ['b', template],
    ]),
  );
  const day = (job: string, vessel: number, date: number) => ({
    job,
    vessel: `IMO${9_000_000 + vessel}`,
    date: new Date(Date.UTC(2026, 0, date)).toISOString().slice(0, 10),
  });
  const days = Array.from({ length: 40 }, (_, vessel) =>
    Array.from({ length: 40 }, (_, date) => day('a', vessel, date + 1)),
  ).flat();
  const all = [...days, day('a', 40, 3), day('b', 1, 2)];
  const folder = await place(all, signal);
  const found: string[] = [];
  for (const job of await readdir(folder))
    for (const vessel of await readdir(join(folder, job)))
      for (const date of await readdir(join(folder, job, vessel))) {
        expect(await readdir(join(folder, job, vessel, date))).toEqual(['empty.parquet']);
        found.push(`${job}/${vessel}/${date}`);
      }
  expect(found.sort()).toEqual(
    all.map(({ job, vessel, date }) => `job=${job}/vessel=${vessel}/date=${date}`).sort(),
  );
  expect(await readdir(join(dir, '0', 'dates'))).toHaveLength(3);
  expect((await lstat(join(folder, 'job=a', 'vessel=IMO9000005'))).isSymbolicLink()).toBe(true);
  expect(await place(all, signal)).toBe(folder);
  const fewer = await place(days, signal);
  expect(fewer).not.toBe(folder);
  expect(await readdir(join(fewer, 'job=a'))).toHaveLength(40);
  expect(await readdir(dir)).toHaveLength(1);
});
