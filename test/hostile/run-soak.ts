/** The soak: a service of each kind for half the time, with what a quiet one answers as the measure. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openExporter } from './exporter/exporter-face.ts';
import { MAX_SERVICE_BYTES, startServiceProcess } from './service/service-face.ts';
import type { Soaked } from './soak-service.ts';
import { expectedAnswers, growthOf, soakService } from './soak-service.ts';

const MINUTE_MS = 60_000;
const READINGS_PER_DAY = 20_000;

export interface SoakResult {
  readonly name: string;
  readonly soaked: Soaked;
  /** What did not hold, in words. */
  readonly findings: readonly string[];
}

/** `forMs` in all. Growth is looked at after the first minute, or a quarter of the time where that is less. */
export async function runSoak({ forMs }: { readonly forMs: number }): Promise<SoakResult[]> {
  const root = await mkdtemp(join(tmpdir(), 'vessel-export-soak-'));
  try {
    const fleet = await soakOne('made-up fleet', { forMs: forMs / 2, root });
    await using exporter = await openExporter();
    const lake = await exporter.servedLake();
    const served = await soakOne('lake', { forMs: forMs / 2, root, dataDir: lake });
    return [fleet, served];
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface OneSoak {
  readonly forMs: number;
  readonly root: string;
  readonly dataDir?: string;
}

async function soakOne(name: string, { forMs, root, dataDir }: OneSoak): Promise<SoakResult> {
  const options = {
    folder: root,
    readingsPerDay: READINGS_PER_DAY,
    ...(dataDir === undefined ? {} : { dataDir }),
  };
  const expected = await answersOfQuiet(options);
  const tempDir = join(root, `temp-of-${name.replaceAll(' ', '-')}`);
  await mkdir(tempDir);
  await using service = await startServiceProcess({ ...options, tempDir });
  const soaked = await soakService(service.face, expected, { forMs, tempDir });
  const warmMs = Math.min(MINUTE_MS, forMs / 4);
  const findings = [...soaked.wrong, ...growthOf(soaked, warmMs, warmMs)];
  if (soaked.peakBytes > MAX_SERVICE_BYTES)
    findings.push(`the service took ${Math.round(soaked.peakBytes / 2 ** 20)} MB`);
  return { name, soaked, findings };
}

async function answersOfQuiet(
  options: Parameters<typeof startServiceProcess>[0],
): Promise<readonly string[]> {
  await using quiet = await startServiceProcess(options);
  return await expectedAnswers(quiet.face);
}
