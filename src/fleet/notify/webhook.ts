/** Messages and their way to the address that NOTIFY_URL names. The address may be a secret itself: it is in no message. */
import { createHmac } from 'node:crypto';
import { RetriableError } from '../../core/errors.ts';
import { type Clock, cleanMessage } from '../../core/model/index.ts';
import { postJson } from '../../core/post-json.ts';
import type { Change } from './cause-changes.ts';

/** The form in which a message is stored until it is delivered. */
export interface Message {
  /** It stays the same when the message is sent again. */
  readonly id: string;
  readonly at: string;
  readonly changes: readonly Change[];
  /** A test message, sent by hand. */
  readonly isTest?: boolean;
}

/** Members that are listed for each change; the rest is counted. */
const MEMBERS_SHOWN = 20;
const WORDS = { begun: '🔴', more: '🔴', over: '🟢' } as const;

/** The body of a message about the deployment of that name. */
export function bodyOf(
  { id, at, changes, isTest }: Message,
  name: string,
  format: WebhookSettings['format'],
): string {
  const lines = changes.map(({ what, text }) => `${WORDS[what]} ${cleanMessage(text)}`);
  if (isTest) lines.push('This is a test: messages arrive here.');
  const text = [`vessel-export (${name})`, ...lines].join('\n');
  if (format === 'text') return JSON.stringify({ text });
  return JSON.stringify({
    messageVersion: 1,
    id,
    at,
    deployment: name,
    text,
    ...(isTest && { test: true }),
    changes: changes.map(({ what, kind, job, text: line, members }) => ({
      what,
      cause: kind,
      ...(job === undefined ? {} : { job }),
      text: cleanMessage(line),
      members: members.slice(0, MEMBERS_SHOWN),
      more: Math.max(0, members.length - MEMBERS_SHOWN),
    })),
  });
}

export interface WebhookSettings {
  readonly url: string;
  readonly secret?: string | undefined;
  /** `json`: all of it, and a text for people. `text`: only that, as chats take it. */
  readonly format: 'json' | 'text';
  readonly name: string;
}

export type Webhook = ReturnType<typeof createWebhook>;

const TIMEOUT_MS = 10_000;
const DELAYS_MS = [0, 1_000, 5_000];

export function createWebhook(settings: WebhookSettings | (() => WebhookSettings), clock: Clock) {
  const settingsNow = () => (typeof settings === 'function' ? settings() : settings);

  async function post(message: Message, signal: AbortSignal): Promise<string | undefined> {
    const { url, secret, format, name } = settingsNow();
    const body = bodyOf(message, name, format);
    const seconds = Math.floor(clock.nowMs() / 1_000);
    const sign = () => createHmac('sha256', secret!).update(`${seconds}.${body}`).digest('hex');
    const headers = {
      'x-vessel-export-id': message.id,
      'x-vessel-export-timestamp': String(seconds),
      ...(secret !== undefined && { 'x-vessel-export-signature': `v1=${sign()}` }),
    };
    return (await postJson({ url, body, headers, timeoutMs: TIMEOUT_MS, signal })).fault;
  }

  return {
    /** Send it, three times at most. Throws RetriableError `notice-not-delivered`, and the signal's reason. */
    async send(message: Message, signal: AbortSignal): Promise<void> {
      let fault: string | undefined;
      for (const delayMs of DELAYS_MS) {
        if (delayMs > 0) await clock.sleep(delayMs, signal);
        fault = await post(message, signal);
        if (fault === undefined) return;
      }
      const text = `the message could not be delivered to ${new URL(settingsNow().url).host} (NOTIFY_URL): ${fault}, expected a status 2xx; check NOTIFY_URL, that its receiver runs, and what firewalls let through; a scheduler sends its messages again until they are`;
      throw new RetriableError('notice-not-delivered', text);
    },
  };
}
