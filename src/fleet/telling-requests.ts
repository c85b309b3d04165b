/** Apart from what tells, which only those who have Redis load. */
import type { AppOverrides } from '../app.ts';
import type { FleetNews } from './fleet-news.ts';

/** What an app is opened with so that its requests are told, from when there is news. */
export function tellingRequests(overrides: AppOverrides, news: () => FleetNews | undefined): AppOverrides {
  return {
    ...overrides,
    onRequest(report) {
      overrides.onRequest?.(report);
      news()?.onRequest(report);
    },
  };
}
