/** The fleet of docker-compose.yml as plain processes: the last nights by itself, a range on demand. */
import { describe, expect, test } from 'vitest';
import { addDays, datesBetween, microsToDate } from '../../src/core/model/index.ts';
import { expectExactDay, lakeFiles, unfinishedFiles } from '../helpers/lake.ts';
import { canStartOwnRedis } from '../helpers/redis.ts';
import type { RunningCli } from '../helpers/run.ts';
import { VESSEL } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { exampleBackfill, healthOf, startComposeFleet } from './compose-fleet.ts';

const s3 = await s3ForTests();

describe.skipIf(s3 === undefined || !canStartOwnRedis())('the fleet of docker-compose.yml', () => {
  // Seven processes of their own.
  test('exports the last nights at once and a range on demand, each day exact', {
    timeout: 120_000,
  }, async () => {
    await using fleet = await startComposeFleet(s3!);
    const { service, queryService } = fleet;
    expect(healthOf('query-service', new URL(service.baseUrl).port)).toBe(0);
    const workers = [fleet.up('worker'), fleet.up('worker')];
    const scheduler = fleet.up('scheduler');
    const exporters = [scheduler, ...workers];
    await Promise.all(exporters.map((one) => one.until('stderr', / is ready"/)));
    const ports = exporters.map((one) => new URL(linesOf(one, /is ready$/)[0]!.http as string).port);
    expect(healthOf('scheduler', ports[0]!)).toBe(0);
    for (const port of ports.slice(1)) expect(healthOf('worker', port)).toBe(0);

    const planned = () => linesOf(scheduler, /^planned$/);
    const jobs = ['measurements', 'metadata', 'statistics'];
    await expect.poll(() => planned().map(({ job }) => job)).toEqual(expect.arrayContaining(jobs));
    const nights = nightsOf(planned()[0]!);
    const added = planned().reduce((sum, plan) => sum + Number(plan.added), 0);
    expect(added).toBe(2 * nights.length + 1);
    const ended = () => workers.flatMap((worker) => linesOf(worker, /^(published|empty)$/)).length;
    await expect.poll(ended).toBe(added);

    const backfill = exampleBackfill();
    const optionOf = (option: string) => backfill[backfill.indexOf(option) + 1]!;
    const from = optionOf('--from');
    const range = datesBetween(from, optionOf('--to'));
    const { code, stdout, stderr } = await fleet.exec(backfill);
    expect(`${stdout}${stderr}`).toContain(`${range.length} done, 0 failed`);
    expect(code).toBe(0);
    for (const worker of workers) expect(linesOf(worker, /^published$/)).not.toEqual([]);

    for (const one of exporters) {
      one.process.kill('SIGTERM');
      expect(await one.ended).toMatchObject({ code: 0, signal: null });
    }
    expect(healthOf('worker', ports[1]!)).toBe(1);

    await using lake = await newTempFolder();
    await fleet.copyLake(lake.path);
    const dates = [...new Set([...range, ...nights])];
    for (const date of dates) {
      const day = { job: 'measurements', vessel: VESSEL, date };
      await expectExactDay(service, { lakeDir: lake.path, day, expressions: [`flat/${VESSEL}/*`] });
    }
    const receipts = [...(await lakeFiles(lake.path)).keys()].filter((key) => key.startsWith('_ledger/'));
    const receiptsOf = (job: string) => receipts.filter((key) => key.startsWith(`_ledger/${job}/`));
    expect(receiptsOf('measurements')).toHaveLength(dates.length);
    expect(receiptsOf('statistics')).toHaveLength(nights.length);
    expect(receiptsOf('metadata')).toHaveLength(1);
    expect(await unfinishedFiles(lake.path)).toEqual([]);
    const until = addDays(dates.toSorted().at(-1)!, 2);
    const verify = ['vessel-export', 'verify', '--deep', '--from', from, '--to', until];
    expect(await fleet.exec(verify)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no findings'),
    });

    queryService.process.kill('SIGTERM');
    expect(await queryService.ended).toMatchObject({ code: 0, signal: null });
  });
});

/** Dates that jobs/measurements.yaml has exported at such a moment: 14 days back, and due 6 hours after they end. */
function nightsOf({ time }: LogLine): string[] {
  const nowMs = Date.parse(String(time));
  const dateAt = (ms: number) => microsToDate(ms * 1_000);
  return datesBetween(addDays(dateAt(nowMs), -14), dateAt(nowMs - 6 * 3_600_000));
}

interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** What a process has logged with such a message. */
function linesOf({ stderr }: RunningCli, shape: RegExp): LogLine[] {
  const whole = stderr.split('\n').slice(0, -1);
  const lines = whole.filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogLine).filter(({ msg }) => shape.test(msg));
}
