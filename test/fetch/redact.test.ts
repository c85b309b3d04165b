import { expect, it } from 'vitest';
import { redactUrl } from '../../src/fetch/redact.ts';

it.each([
  ['https://host:8443/tenant', 'https://host:8443/tenant'],
  ['https://user:hunter2@host/t', 'https://***@host/t'],
  ['redis://:hunter2@host:6379/0', 'redis://***@host:6379/0'],
  ['https://hunter2@host/', 'https://***@host/'],
  ['https://host/a?X-Amz-Signature=hunter2#hunter2', 'https://host/a?…'],
  ['//user:hunter2@host', '//***@host'],
  ['https://user:hunter2@ho st/x?token=hunter2', 'https://***@ho st/x?…'],
  ['https://user:hun@ter2@[bad', 'https://***@[bad'],
])('shows %s as %s', (url, shown) => {
  expect(redactUrl(url)).toBe(shown);
});
