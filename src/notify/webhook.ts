/** Sending a message to the address that NOTIFY_URL names. The address may be a secret itself: it is in no message. */
import { codeOf, RetriableError } from '../errors.ts';
import type { Clock } from '../model/index.ts';
import type { Message, MessageFormat } from './message.ts';
import { bodyOf, signatureOf } from './message.ts';

export interface WebhookSettings {
  readonly url: string;
  /** Absent: messages are not signed. */
  readonly secret?: string | undefined;
  readonly format: MessageFormat;
  /** What the deployment is called in messages. */
  readonly name: string;
}

export interface Webhook {
  /** Send it, three times at most. Throws RetriableError `notice-not-delivered`, and the signal's reason. */
  send(message: Message, signal: AbortSignal): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const RETRY_DELAYS_MS = [1_000, 5_000];

export function createWebhook(settings: WebhookSettings | (() => WebhookSettings), clock: Clock): Webhook {
  const settingsNow = () => (typeof settings === 'function' ? settings() : settings);

  /** What was wrong, or undefined. */
  async function post(message: Message, signal: AbortSignal): Promise<string | undefined> {
    const { url, secret, format, name } = settingsNow();
    const body = bodyOf(message, name, format);
    const seconds = Math.floor(clock.nowMs() / 1_000);
    const signed =
      secret === undefined ? {} : { 'x-vessel-export-signature': `v1=${signatureOf(secret, seconds, body)}` };
    try {
      const answer = await fetch(url, {
        method: 'POST',
        body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        headers: {
          'content-type': 'application/json',
          'x-vessel-export-id': message.id,
          'x-vessel-export-timestamp': String(seconds),
          ...signed,
        },
      });
      await answer.body?.cancel();
      return answer.ok ? undefined : `it answered ${answer.status}`;
    } catch (error) {
      signal.throwIfAborted();
      return causeOf(error);
    }
  }

  return {
    async send(message, signal) {
      let fault = await post(message, signal);
      for (const delayMs of RETRY_DELAYS_MS) {
        if (fault === undefined) return;
        await clock.sleep(delayMs, signal);
        fault = await post(message, signal);
      }
      if (fault === undefined) return;
      throw new RetriableError(
        'notice-not-delivered',
        `the message could not be delivered to ${new URL(settingsNow().url).host} (NOTIFY_URL): ${fault}, expected a status 2xx; a scheduler sends its messages again until they are`,
      );
    },
  };
}

/** The system's code alone: what a library says may repeat the address. */
function causeOf(error: unknown): string {
  if ((error as Error | undefined)?.name === 'TimeoutError')
    return `no answer within ${TIMEOUT_MS / 1_000} s`;
  const { code } = ((error as Error | undefined)?.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : codeOf(error);
}
