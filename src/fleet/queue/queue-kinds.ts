/**
 * How many vessel-days of each kind stand in the queue, without reading it: those that wait are told apart by where they
 * stand, and of those that are delayed or have failed a bounded number is looked at.
 */
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUED_KINDS } from './queued-day.ts';
import { PRIORITY } from './vessel-day-queue.ts';

/** Vessel-days by kind and state; what was not looked at, or is of no kind of ours, is `other`. */
export interface KindCount {
  readonly kind: string;
  readonly waiting: number;
  readonly delayed: number;
  readonly failed: number;
}

/** Looked at in each of the two states whose vessel-days do not stand by kind. */
export const KINDS_COUNTED_AT_MOST = 1_000;
/** A priority's place among the scores, as BullMQ makes them. */
const SCORES = 2 ** 32;

/** KEYS: wait, prioritized, delayed, failed. Of each kind: [waiting, delayed, failed], then all of each. */
const COUNT = `
local function ask(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return false end
  return answer
end
local kinds, most, scores = cjson.decode(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local rows, place = {}, {}
for i, kind in ipairs(kinds) do
  local from = kind.priority * scores
  local waiting = kind.priority == 0 and ask('LLEN', KEYS[1])
    or ask('ZCOUNT', KEYS[2], from, '(' .. string.format('%.0f', from + scores))
  rows[i] = { waiting or 0, 0, 0 }
  place[kind.name] = rows[i]
end
local all = { (ask('LLEN', KEYS[1]) or 0) + (ask('ZCARD', KEYS[2]) or 0) }
for state = 2, 3 do
  local key = KEYS[state + 1]
  all[state] = ask('ZCARD', key) or 0
  for _, id in ipairs(ask('ZREVRANGE', key, 0, most - 1) or {}) do
    local size = ask('HSTRLEN', ARGV[1] .. id, 'name')
    local name = size and size < 40 and ask('HGET', ARGV[1] .. id, 'name')
    local row = name and place[name]
    if row then row[state] = row[state] + 1 end
  end
end
rows[#rows + 1] = all
return rows`;

/** One round trip. `redis`: a connection that fails while Redis is away. Throws what Redis throws. */
export async function countKinds(redis: Pick<Redis, 'eval'>, queue: Queue): Promise<readonly KindCount[]> {
  const keys = ['wait', 'prioritized', 'delayed', 'failed'].map((end) => queue.toKey(end));
  const kinds = QUEUED_KINDS.map((name) => ({ name, priority: PRIORITY[name] ?? 0 }));
  const args = [queue.toKey(''), JSON.stringify(kinds), KINDS_COUNTED_AT_MOST, SCORES];
  const answer = (await redis.eval(COUNT, keys.length, ...keys, ...args)) as unknown[];
  const [waiting = 0, delayed = 0, failed = 0] = answer.pop() as number[];
  const named = QUEUED_KINDS.map((kind, index) => {
    const [waits = 0, delays = 0, fails = 0] = answer[index] as number[];
    return { kind, waiting: waits, delayed: delays, failed: fails };
  });
  const rest = (all: number, of: 'waiting' | 'delayed' | 'failed') =>
    Math.max(0, all - named.reduce((sum, each) => sum + each[of], 0));
  const other = {
    kind: 'other',
    waiting: rest(waiting, 'waiting'),
    delayed: rest(delayed, 'delayed'),
    failed: rest(failed, 'failed'),
  };
  const isAny = other.waiting + other.delayed + other.failed > 0;
  return isAny ? [...named, other] : named;
}
