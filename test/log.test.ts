import { expect, test } from 'vitest';
import { createLog } from '../src/log.ts';

function logTo(readable: boolean, level: 'debug' | 'info' | 'silent' = 'info') {
  const lines: string[] = [];
  return { lines, log: createLog({ level, readable, write: (line) => lines.push(line) }) };
}

test('elsewhere than on a terminal a log is JSON lines', () => {
  const { lines, log } = logTo(false);
  log.info({ vesselDay: 'm/IMO9321483/2026-01-05', rows: 5 }, 'published');
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 'info',
    vesselDay: 'm/IMO9321483/2026-01-05',
    rows: 5,
    msg: 'published',
  });
});

test('on a terminal a log is short lines', () => {
  const { lines, log } = logTo(true);
  log.warn({ vesselDay: 'm/IMO9321483/2026-01-05', reason: 'late' }, 'starting clean');
  expect(lines).toEqual(['warn   m/IMO9321483/2026-01-05  starting clean  reason=late\n']);
});

test('levels below the chosen one are left out', () => {
  const { lines, log } = logTo(true);
  log.debug({}, 'detail');
  const silent = logTo(true, 'silent');
  silent.log.error({}, 'nothing');
  expect([...lines, ...silent.lines]).toEqual([]);
});
