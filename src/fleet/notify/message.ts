/** What is sent: one message for all that changed at once. */
import { createHmac } from 'node:crypto';
import { cleanMessage } from '../../core/model/index.ts';
import type { Change } from './causes.ts';

/** As it is kept until it has arrived. */
export interface Message {
  /** The same whenever it is sent again. */
  readonly id: string;
  readonly at: string;
  readonly changes: readonly Change[];
  /** Sent by hand, to see whether it arrives. */
  readonly isTest?: boolean;
}

/** `json`: all of it, and a text for people. `text`: only that, as chats take it. */
export type MessageFormat = 'json' | 'text';

/** Of each change; the rest is counted. */
const MEMBERS_SHOWN = 20;
const WORDS = { begun: '🔴', more: '🔴', over: '🟢' } as const;

/** The body of a message about the deployment of that name. */
export function bodyOf({ id, at, changes, isTest }: Message, name: string, format: MessageFormat): string {
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

/** Of `<seconds since 1970>.<body>`, by HMAC-SHA256: what the header of a signed message says behind `v1=`. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
}
