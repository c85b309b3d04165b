/** The notices of a scheduler process, by its settings. */
import type { Log } from '../core/model/index.ts';
import { createSharedText } from '../redis/shared-text.ts';
import type { Config } from '../runtime/config/config.ts';
import { webhookSettings } from '../runtime/config/derived-settings.ts';
import type { Fleet } from './fleet.ts';
import { createNoticeWatch, type NoticeWatch } from './notice-watch.ts';
import { withOtherPlace } from './notify/notice-store.ts';
import { createTeller } from './notify/notices.ts';
import { createWebhook } from './notify/webhook.ts';
import { createQueueHold } from './queue/hold.ts';

/** Undefined where nobody is to be told. `intervalMs` is for tests. */
export function openNoticeWatch(
  config: Config,
  fleet: Fleet,
  log: Log,
  intervalMs?: number,
): NoticeWatch | undefined {
  const { settings, jobs, current } = config;
  const webhook = webhookSettings(settings);
  if (webhook === undefined) return undefined;
  const { clock, store } = fleet.app.ports;
  const hold = createQueueHold(fleet.redis, fleet.queue.bull);
  // Commands of the queue wait for Redis, and notices must not.
  const isConnected = () => fleet.connection.client.status === 'ready';
  const shared = createSharedText(fleet.connection, `${fleet.prefix}:notices:told`);
  return createNoticeWatch({
    jobs,
    teller: createTeller({
      store: withOtherPlace(store, shared),
      webhook: createWebhook(() => webhookSettings(current(log)) ?? webhook, clock),
      clock,
      log,
    }),
    clock,
    log,
    readHold: async () => (isConnected() ? ((await hold.read()) ?? null) : undefined),
    nightByMs: settings.NOTIFY_NIGHT_BY,
    lateDays: settings.NOTIFY_LATE_DAYS,
    ...(intervalMs === undefined ? {} : { intervalMs }),
  });
}
