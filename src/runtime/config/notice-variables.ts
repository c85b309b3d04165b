/** The variables about messages that the scheduler sends. */
import { z } from 'zod';
import { readWebAddress } from '../../core/model/web-address.ts';
import { type Variable, wholeNumber } from './variable.ts';

export const NOTICE_VARIABLES = [
  {
    name: 'NOTIFY_URL',
    meaning: 'where the scheduler sends a message when something goes wrong, and when it is over',
    rule: 'an http(s) URL, or not set: nobody is told',
    schema: z.string().refine((text) => readWebAddress(text) !== undefined),
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'NOTIFY_SECRET',
    meaning: 'key with which these messages are signed (HMAC-SHA256)',
    rule: 'at least 16 characters, or not set: not signed',
    schema: z.string().min(16),
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'NOTIFY_FORMAT',
    meaning: 'what is sent: all that is known, or only the text that chats show',
    rule: 'json or text',
    schema: z.enum(['json', 'text']),
    fallback: () => 'json',
  },
  {
    name: 'NOTIFY_NIGHT_BY',
    meaning: 'UTC time at which the day before has to be in the lake',
    rule: 'a time such as 12:00',
    schema: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/)
      .transform((text) => Date.parse(`1970-01-01T${text}:00Z`)),
    fallback: () => '12:00',
  },
  {
    name: 'NOTIFY_LATE_DAYS',
    meaning: 'vessel-days with late data that a look-back may find before somebody is told',
    rule: 'a whole number',
    schema: wholeNumber(0),
    fallback: () => '20',
  },
] as const satisfies readonly Variable[];
