/** `notify test`: does a message arrive where NOTIFY_URL says? */
import { randomUUID } from 'node:crypto';
import { ConfigError } from '../../core/errors.ts';
import { type Clock, systemClock } from '../../core/model/index.ts';
import { createWebhook } from '../../fleet/notify/webhook.ts';
import { webhookSettings } from '../../runtime/config/derived-settings.ts';
import { writeText } from '../terminal/screen.ts';
import { type CommandContext, EXIT_OK, readLakeConfig } from './command.ts';

/** Send a message that says what it is; the exit code. Throws RetriableError `notice-not-delivered`. */
export async function notifyCommand(
  context: CommandContext,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<number> {
  const webhook = webhookSettings(readLakeConfig(context).settings);
  if (webhook === undefined)
    throw new ConfigError(
      'notify-url',
      'NOTIFY_URL: not set, expected the address that messages are sent to, such as https://hooks.example.com/…; set NOTIFY_URL or NOTIFY_URL_FILE',
    );
  const message = { id: randomUUID(), at: new Date(clock.nowMs()).toISOString(), changes: [], isTest: true };
  await createWebhook(webhook, clock).send(message, context.signal);
  const how = webhook.secret === undefined ? 'not signed (no NOTIFY_SECRET)' : 'signed';
  writeText(
    context.stdout,
    `A test message was taken by ${new URL(webhook.url).host}: ${message.id}, ${how}\n`,
  );
  return EXIT_OK;
}
