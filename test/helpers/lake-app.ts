/** Exports and verify of a lake in this process, without a command line: what tests of many small days are made of. */
import type { AppOverrides } from '../../src/app.ts';
import { openApp } from '../../src/app.ts';
import type { Finding, VerifyWarning } from '../../src/audit/verify/findings.ts';
import type { ReadableStore } from '../../src/audit/verify/lake-walk.ts';
import { verifyLake } from '../../src/audit/verify/verify-lake.ts';
import { addDays, silentLog } from '../../src/core/model/index.ts';
import type { DayResult, ExportEvent } from '../../src/export/events.ts';
import { exportJobs } from '../../src/export/run/run-jobs.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import type { JobDefinition } from '../../src/runtime/config/jobs.ts';
import type { TestService } from './run.ts';
import { DATE, exportEnv, QUICK_LIMITS } from './run.ts';

interface LakeAppOptions {
  readonly service: TestService;
  readonly lakeUrl: string;
  readonly jobs: Readonly<Record<string, JobDefinition>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly overrides?: AppOverrides;
}

interface Range {
  /** Default: DATE alone. */
  readonly from?: string;
  readonly to?: string;
  /** Default: all. */
  readonly jobs?: readonly string[];
  /** Default: those of the jobs. */
  readonly vessels?: readonly string[];
}

interface RunOptions extends Range {
  readonly force?: boolean;
  readonly allowShrink?: boolean;
}

interface VerifyOptions extends Range {
  readonly deep?: boolean;
  readonly store?: ReadableStore;
}

interface Verified {
  readonly findings: readonly Finding[];
  readonly warnings: readonly VerifyWarning[];
}

export type LakeApp = Awaited<ReturnType<typeof openLakeApp>>;

export async function openLakeApp(options: LakeAppOptions) {
  const { service, lakeUrl, jobs: definitions, overrides } = options;
  const env = { ...exportEnv(service, lakeUrl, 'no-folder'), ...options.env };
  const config = loadConfig(env, definitions);
  const app = await openApp(config, env, silentLog, {
    ...{ clientLimits: QUICK_LIMITS, encoderThreads: 0 },
    ...overrides,
  });
  const { signal } = new AbortController();
  const rangeOf = ({ from = DATE, to = addDays(from, 1), jobs, vessels = [] }: Range) => {
    const wanted = config.jobs.filter(({ name }) => jobs?.includes(name) !== false);
    return { from, to, jobs: wanted, vessels, concurrency: 4 };
  };
  return {
    app,
    jobs: config.jobs,
    /** `run`; throws what planning throws. */
    async run(asked: RunOptions = {}) {
      const { force = false, allowShrink = false } = asked;
      const results: DayResult[] = [];
      const request = { ...rangeOf(asked), force, allowShrink, takeover: false };
      const onEvent = (event: ExportEvent) => event.kind === 'day-result' && results.push(event.result);
      await exportJobs(app.ports, request, onEvent, signal);
      return results;
    },
    /** `verify`. */
    async verify(asked: VerifyOptions = {}): Promise<Verified> {
      const { deep = false, store = app.store } = asked;
      const [findings, warnings]: [Finding[], VerifyWarning[]] = [[], []];
      const tools = { client: app.client, tempDir: config.settings.TEMP_DIR };
      const request = { ...rangeOf(asked), ...(deep && { deep: tools }) };
      const onDay = (day: Verified) => {
        findings.push(...day.findings);
        warnings.push(...day.warnings);
      };
      await verifyLake({ store, log: silentLog }, request, { onPlanned() {}, onBytes() {}, onDay }, signal);
      return { findings, warnings };
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}
