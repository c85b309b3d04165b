/** `notify test`: does a message arrive where NOTIFY_URL says? */
import { randomUUID } from 'node:crypto';
import { ConfigError } from '../../core/errors.ts';
import { systemClock } from '../../core/model/index.ts';
import { createWebhook } from '../../fleet/notify/webhook.ts';
import { webhookSettings } from '../../runtime/config/derived-settings.ts';
import { writeText } from '../terminal/screen.ts';
import { type Command, EXIT_OK, readLakeConfig } from './command.ts';

const NOT_SET =
  'NOTIFY_URL: not set, expected the address that messages are sent to, such as https://hooks.example.com/…; set NOTIFY_URL or NOTIFY_URL_FILE';

/** Send a message that says what it is. Throws RetriableError `notice-not-delivered`. */
export const notifyCommand: Command<[what: string]> = async (context, _, { clock = systemClock } = {}) => {
  const webhook = webhookSettings(readLakeConfig(context).settings);
  if (webhook === undefined) throw new ConfigError('notify-url', NOT_SET);
  const message = { id: randomUUID(), at: new Date(clock.nowMs()).toISOString(), changes: [], isTest: true };
  await createWebhook(webhook, clock).send(message, context.signal);
  const how = webhook.secret === undefined ? 'not signed (no NOTIFY_SECRET)' : 'signed';
  const taken = `A test message was taken by ${new URL(webhook.url).host}: ${message.id}, ${how}\n`;
  writeText(context.stdout, taken);
  return EXIT_OK;
};
