/** The provider at which people sign in to the page: does it answer, and is it what the settings say. */
import type { Clock } from '../../core/model/index.ts';
import { providerSettings } from '../../runtime/config/provider-settings.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import type { CheckResult } from './result.ts';
import { inTime, resultsOf } from './result.ts';

const { ok, error } = resultsOf('page');

/** Nothing where no provider is set: the page needs none. */
export async function* checkPage(settings: Partial<Settings>, clock: Clock): AsyncGenerator<CheckResult> {
  const provider = providerSettings(settings);
  if (provider === undefined) return;
  try {
    const { openProvider } = await import('../../web/sign-in/openid.ts');
    await inTime(clock, provider.issuer, () => openProvider(provider));
    yield ok(
      'provider',
      `${provider.issuer} says how people sign in there; whether it knows the client, and ${provider.redirectUri}, shows when somebody does`,
    );
  } catch (thrown) {
    yield error('provider', thrown);
  }
}
