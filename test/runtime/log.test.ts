import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { addLogFields, withinVesselDay, withLogFields } from '../../src/core/model/log-context.ts';
import { createLog } from '../../src/runtime/log.ts';

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

test('a line says which process wrote it, and has what is known of what is being done', () => {
  const { lines, log } = logTo(false);
  withinVesselDay('m/IMO9321483/2026-01-05', () => {
    withinVesselDay('m/IMO9321483/2026-01-05', () => addLogFields({ epoch: 3 }));
    withLogFields({ requestId: 'r-1' }, () => log.info({ rows: 5 }, 'inside'));
    log.info({ vesselDay: 'another' }, 'said by itself');
  });
  log.info({}, 'outside');
  const [inside, itself, outside] = lines.map((line) => JSON.parse(line));
  const worker = `${hostname()}:${process.pid}`;
  expect(inside).toMatchObject({
    worker,
    vesselDay: 'm/IMO9321483/2026-01-05',
    epoch: 3,
    requestId: 'r-1',
    rows: 5,
  });
  expect(itself).toMatchObject({ worker, vesselDay: 'another', epoch: 3 });
  expect(Object.keys(outside)).toEqual(['level', 'time', 'worker', 'msg']);
});
