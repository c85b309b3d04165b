/** A lake of two vessels and two days with all three datasets, for what asks it in SQL. */
import { splitStatements } from '../../../src/cli/commands/sql.ts';
import { viewsCommand } from '../../../src/cli/commands/views.ts';
import { addDays, type Layout, systemClock } from '../../../src/core/model/index.ts';
import { type CommandRun, commandRun } from '../../helpers/command-run.ts';
import type { JobFile, TestLake, TestService } from '../../helpers/run.ts';
import { DATE, mustExport, newLake, OTHER_VESSEL, startTestService, VESSEL } from '../../helpers/run.ts';

export const NEXT_DATE = addDays(DATE, 1);
const vessels = [VESSEL, OTHER_VESSEL];
const select = ['flat/{vessel}/S*'];
export const JOBS: Readonly<Record<string, JobFile>> = {
  measurements: { dataset: 'measurements', vessels, select },
  statistics: { dataset: 'statistics', vessels, select, window: '10m', aggregations: ['mean', 'max'] },
  metadata: { dataset: 'metadata', vessels, select },
};

export function startViewService(): Promise<TestService> {
  return startTestService({ vessels: 2, readingsPerDay: 3_000 });
}

export async function exportViewLake(
  service: TestService,
  lakeUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { metadata, ...days } = JOBS;
  const args = { from: DATE, to: addDays(DATE, 2) };
  await mustExport({ service, lakeUrl, env, jobs: days, args });
  const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
  await mustExport({ service, lakeUrl, env, jobs: { metadata: metadata! }, overrides: { clock } });
}

interface ViewLakes<L extends Layout> extends AsyncDisposable {
  readonly lakes: Readonly<Record<L, TestLake>>;
}

/** The same lake in each of these layouts, in folders. */
export async function openViewLakes<L extends Layout>(...layouts: readonly L[]): Promise<ViewLakes<L>> {
  const service = await startViewService();
  const lakes = {} as Record<L, TestLake>;
  for (const layout of layouts) {
    lakes[layout] = await newLake();
    await exportViewLake(service, lakes[layout].url, { LAKE_LAYOUT: layout });
  }
  await service.close();
  return {
    lakes,
    async [Symbol.asyncDispose]() {
      for (const layout of layouts) await lakes[layout][Symbol.asyncDispose]();
    },
  };
}

/** What the options of `views` and `sql` are without any. */
export const DEFAULTS = { window: '10m', aggregate: 'mean', hold: '1h', fetchGb: 4 } as const;

export type ViewsOptions = Parameters<typeof viewsCommand>[1];

export function runViews(lakeUrl: string, options: Partial<ViewsOptions>, jobs = JOBS): Promise<CommandRun> {
  return commandRun({ lakeUrl, jobs }, (context) => viewsCommand(context, { ...DEFAULTS, ...options }));
}

/** The statements of a script that must be printed. */
export async function viewStatementsOf(
  lakeUrl: string,
  options: Partial<ViewsOptions>,
  jobs = JOBS,
): Promise<string[]> {
  const { code, stdout, stderr } = await runViews(lakeUrl, options, jobs);
  if (code !== 0) throw new Error(`views ended with ${code}: ${stderr}`);
  return splitStatements(stdout);
}
