/**
 * Verify beside what a killed attempt leaves. The lake is copied at each step of an export, which is what `kill -9` there
 * leaves, and damaged in each of these states: a claim hides nothing but what it is about to put right.
 */
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  FORMAT_SIZES,
  type FormatSizes,
  type Layout,
  type Receipt,
  type VesselDay,
} from '../../../src/core/model/index.ts';
import { claimKey, claimPrefix, detailKey, receiptKey } from '../../../src/lake/keys.ts';
import type { JobDefinition } from '../../../src/runtime/config/jobs.ts';
import { receiptOf } from '../../helpers/lake.ts';
import { type LakeApp, openLakeApp } from '../../helpers/lake-app.ts';
import { DATE, serviceForTests, VESSEL } from '../../helpers/run.ts';
import { newMemoryFolder, type TempFolder } from '../../helpers/temp.ts';
import { edit, editDetail, editReceipt } from './audit-lake.ts';

const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const JOBS: Record<string, JobDefinition> = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/S*'] },
};

/** Steps of an attempt that replaces a published day by other bytes. */
const STEPS = ['part-uploaded', 'sealed', 'completed', 'published', 'detail', 'receipt'] as const;
type Step = (typeof STEPS)[number];

const service = await serviceForTests({ readingsPerDay: 1_000 });
let folder: TempFolder;
beforeAll(async () => {
  folder = await newMemoryFolder();
  const otherBytes = { rowGroupRows: 100, partBytes: 2_000 };
  for (const layout of ['plain', 'delta'] as const) await makeStates(layout, layout, otherBytes);
  await makeStates('plain', 'same', FORMAT_SIZES);
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

/** `same`: of an attempt that publishes the same bytes, in a plain lake. */
const stateDir = (states: Layout | 'same', step: Step) => join(folder.path, states, step);

function open(
  dir: string,
  layout: Layout,
  more: Partial<Parameters<typeof openLakeApp>[0]> = {},
): Promise<LakeApp> {
  const lakeUrl = pathToFileURL(dir).href;
  return openLakeApp({ service, lakeUrl, jobs: JOBS, env: { LAKE_LAYOUT: layout }, ...more });
}

/** A published day, and the lake as it is after each step of an attempt that publishes the same readings again. */
async function makeStates(layout: Layout, states: Layout | 'same', sizes: FormatSizes): Promise<void> {
  const dir = join(folder.path, states, 'lake');
  {
    await using first = await open(dir, layout);
    expect(await first.run()).toMatchObject([{ status: 'published' }]);
  }
  const left = new Set<string>(STEPS);
  const onStep = async (step: string) => {
    if (left.delete(step)) await cp(dir, stateDir(states, step as Step), { recursive: true });
  };
  await using second = await open(dir, layout, { overrides: { onStep, sizes } });
  expect(await second.run({ force: true })).toMatchObject([{ status: 'published' }]);
}

interface Damage {
  readonly lake?: (dir: string, receipt: Receipt) => Promise<unknown>;
  /** The source says other values, at equal counts. */
  readonly isAtSource?: boolean;
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  'no damage': {},
  'other values at the source': { isAtSource: true },
  'the detail is removed': { lake: (dir) => rm(join(dir, detailKey(DAY))) },
  'the detail is edited': { lake: (dir) => editDetail(dir, DAY, ({ ours }) => ({ ours, source: {} })) },
  'the receipt is changed': { lake: (dir) => editReceipt(dir, DAY, ({ rows }) => ({ rows: rows - 1 })) },
  'the receipt is cut': { lake: (dir) => edit(dir, receiptKey(DAY), (bytes) => bytes.subarray(0, -9)) },
  'the receipt is removed': { lake: (dir) => rm(join(dir, receiptKey(DAY))) },
  'the object is removed': { lake: (dir, { object }) => rm(join(dir, object!.key)) },
  'the object is flipped': {
    lake: (dir, { object }) => edit(dir, object!.key, (bytes) => bytes.fill(bytes[40]! ^ 1, 40, 41)),
  },
};

/** Findings of a damaged copy, by name; `without`: as if no claim had been left. */
async function findIn(from: string, layout: Layout, damage: Damage, without: boolean): Promise<string[]> {
  await using lake = await newMemoryFolder();
  await cp(from, lake.path, { recursive: true });
  const published = await publishedIn(from, layout);
  await damage.lake?.(lake.path, published);
  if (without) await rm(join(lake.path, claimPrefix(DAY)), { recursive: true });
  const { isAtSource = false } = damage;
  service.faults = ({ family }) =>
    isAtSource && family === 'statistics'
      ? { kind: 'rewrite', rewrite: (body) => body.replaceAll(/("max":)-?\d[^,}]*/g, '$1123456789') }
      : undefined;
  try {
    await using opened = await open(lake.path, layout);
    const { findings, warnings } = await opened.verify({ deep: isAtSource });
    expect(warnings.filter(({ name }) => name !== 'unfinished')).toEqual([]);
    return findings.map(({ name }) => name);
  } finally {
    service.faults = undefined;
  }
}

/** What the newest attempt has published, or else the receipt says. */
async function publishedIn(dir: string, layout: Layout): Promise<Receipt> {
  const isNew = ['published', 'detail', 'receipt'].some((step) => dir === stateDir(layout, step as Step));
  return (await receiptOf(isNew ? stateDir(layout, 'receipt') : dir, DAY))!;
}

describe.for(['plain', 'delta'] as const)('%s', (layout) => {
  const completed = layout === 'delta' ? (['completed'] as const) : [];

  test.for([
    ['a day that an attempt works on', ['part-uploaded', 'sealed', ...completed]],
    ['a published day', ['receipt']],
  ] as const)('%s: what is left of its claim hides no damage', async ([, steps]) => {
    for (const [what, damage] of Object.entries(DAMAGES)) {
      const expected = await findIn(stateDir(layout, steps[0]), layout, damage, true);
      expect(expected.length, what).toBe(what === 'no damage' ? 0 : 1);
      for (const step of steps) {
        // The draft of an attempt that has published is the receipt that is gone.
        const isDrafted = step === 'receipt' && what === 'the receipt is removed';
        const found = await findIn(stateDir(layout, step), layout, damage, false);
        expect(found, `${what}, left after ${step}`).toEqual(isDrafted ? [] : expected);
      }
    }
  });

  test.for(['published', 'detail'] as const)(
    'a day that is left after "%s" is held against the draft of its receipt',
    async (step) => {
      const found: Record<string, string[]> = {};
      for (const [what, damage] of Object.entries(DAMAGES))
        found[what] = await findIn(stateDir(layout, step), layout, damage, false);
      expect(found).toEqual({
        'no damage': [],
        'other values at the source': ['values-differ'],
        // The draft has the detail, and takes the place of the receipt.
        ...{ 'the detail is removed': [], 'the detail is edited': [] },
        ...{ 'the receipt is changed': [], 'the receipt is removed': [] },
        'the receipt is cut': ['receipt-damaged'],
        'the object is removed': ['object-missing'],
        // A plain lake cannot tell whose object it was.
        'the object is flipped': [layout === 'delta' ? 'checksum-differs' : 'size-differs'],
      });
    },
  );

  test('a claim that its receipt has ended is no attempt under way', async () => {
    await using opened = await open(stateDir(layout, 'receipt'), layout);
    expect(await opened.verify()).toEqual({ findings: [], warnings: [] });
    await using begun = await open(stateDir(layout, 'sealed'), layout);
    expect(await begun.verify()).toMatchObject({ findings: [], warnings: [{ name: 'unfinished' }] });
  });

  test('a claim that cannot be read, or whose draft is none, hides no damage', async () => {
    for (const claim of ['{"epoch":', JSON.stringify({ epoch: 9, sealed: { draft: { object: null } } })]) {
      await using lake = await newMemoryFolder();
      await cp(stateDir(layout, 'receipt'), lake.path, { recursive: true });
      await writeFile(join(lake.path, claimKey(DAY, 9)), claim);
      await rm(join(lake.path, detailKey(DAY)));
      await using opened = await open(lake.path, layout);
      expect((await opened.verify()).findings).toMatchObject([{ name: 'detail-missing' }]);
    }
  });
});

test('a day that is about to be published as it was is held against its receipt', async () => {
  for (const [what, damage] of Object.entries(DAMAGES)) {
    const found = await findIn(stateDir('same', 'sealed'), 'plain', damage, false);
    expect(found, what).toEqual(await findIn(stateDir('same', 'sealed'), 'plain', damage, true));
  }
});
