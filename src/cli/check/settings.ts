/** Settings and job files, and the folder for temporary files. */
import { messageOf } from '../../core/errors.ts';
import { openTempFolder } from '../../core/process/temp-folder.ts';
import type { SurveyedConfig } from '../../runtime/config/config.ts';
import type { CheckResult } from './result.ts';
import { resultsOf } from './result.ts';

const { ok, warning, failed } = resultsOf('settings');

export async function* checkSettings(config: SurveyedConfig): AsyncGenerator<CheckResult> {
  for (const fault of config.faults) yield failed('settings', fault, 'configuration');
  for (const text of config.warnings) yield warning('settings', text, 'configuration');
  const { length } = config.jobs;
  if (config.faults.length === 0)
    yield ok(
      'settings',
      `all settings can be used, and ${length === 1 ? 'the job file' : `all ${length} job files`}`,
    );
  if (config.settings.TEMP_DIR !== undefined) yield await checkTempFolder(config.settings.TEMP_DIR);
}

async function checkTempFolder(path: string): Promise<CheckResult> {
  try {
    const folder = await openTempFolder(path, 'check');
    await folder.remove();
    return ok('temp-folder', `${path} can be written to`);
  } catch (error) {
    const advice = 'set TEMP_DIR to a folder that can be written to';
    return failed(
      'temp-folder',
      `no folder can be made in '${path}' (${messageOf(error)}): ${advice}`,
      'temp-folder',
    );
  }
}
