/** Removals of several objects where the store does not take them together. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { type Place, place, refuse } from '../answering-s3.ts';
import { expectFault } from '../store-suite.ts';

const KEYS = ['a', 'b', 'c'];
const singles = ({ asked }: Place) =>
  asked.filter(({ method }) => method === 'DELETE').map(({ url }) => new URL(url, 'http://x').pathname);
const together = ({ asked }: Place) => asked.filter(({ method }) => method === 'POST').length;

test.each([
  [403, 'AccessDenied'],
  [501, 'NotImplemented'],
  [405, 'MethodNotAllowed'],
])(
  'refused together (%i %s), each is removed by itself, and nothing is asked together again',
  async (...how) => {
    const one = await place((response, _request, { method }) =>
      method === 'POST' ? refuse(response, ...how) : void response.writeHead(204).end(),
    );
    await one.store.removeAll(KEYS);
    expect(singles(one).sort()).toEqual(KEYS.map((key) => `/bucket/lake/${key}`));
    const asked = together(one);
    await one.store.removeAll(KEYS);
    expect(together(one)).toBe(asked);
    expect(singles(one)).toHaveLength(6);
  },
);

test('who may remove nothing is told so, and is asked together again', async () => {
  const one = await place((response) => refuse(response, 403, 'AccessDenied'));
  await expectFault(() => one.store.removeAll(KEYS), FatalError, 'no-permission');
  const asked = together(one);
  await expectFault(() => one.store.removeAll(KEYS), FatalError, 'no-permission');
  expect(together(one)).toBeGreaterThan(asked);
});

test('one object that may not be removed is named, and no other is tried again', async () => {
  const answer = (response: ServerResponse) => {
    const error = '<Error><Key>lake/b</Key><Code>AccessDenied</Code><Message>no</Message></Error>';
    response.end(`<?xml version="1.0"?><DeleteResult>${error}</DeleteResult>`);
  };
  const one = await place(answer);
  const fault = await expectFault(() => one.store.removeAll(KEYS), FatalError, 'no-permission');
  expect(fault.message).toContain('lake/b');
  expect(singles(one)).toEqual([]);
});
