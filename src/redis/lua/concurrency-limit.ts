import { GROWN, MEMBERS } from './members.ts';

/** One exchange with the concurrency limit. Slots are a sorted set, scored by the time they run out. */
export const concurrencyLimitScript = (now: string): string => `
${now}${MEMBERS}${GROWN}
local slots = KEYS[5]
local reply = { granted = 0, lost = 0, slow = false, fresh = false }

-- A Redis that was restarted, replaced or flushed knows slots of the past or none at all: nobody gets one until
-- every process had time to report its own.
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local heldUntil = field('heldUntil') or 0
if redis.call('HGET', state, 'server') ~= server then
  reply.fresh = true
  heldUntil = math.max(heldUntil, now + ask.settleMs)
  redis.call('HSET', state, 'server', server)
  redis.call('PUBLISH', ask.channel, '{"report":true}')
end

-- Who holds slots is never silent for so long: either all of them are dead, or Redis' clock was set forward, or
-- nobody has reached it. Those that live have time to say so before anyone is given what has run out.
if silentMs > ask.ttlMs / 2 and redis.call('ZCOUNT', slots, '-inf', now) > 0 then
  heldUntil = math.max(heldUntil, now + ask.settleMs)
  redis.call('PUBLISH', ask.channel, '{"report":true}')
end
redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
for _, id in ipairs(ask.held) do
  reply.lost = reply.lost + redis.call('ZADD', slots, now + ask.ttlMs, id)
end
for _, id in ipairs(ask.back) do redis.call('ZREM', slots, id) end
-- An answer may have been lost: then these were granted, and nobody holds them.
for _, id in ipairs(ask.candidates) do redis.call('ZREM', slots, id) end

local current = math.min(field('current') or limit, limit)
local changed, lowered = field('changed') or now, field('lowered') or -math.huge
current, changed = grownConcurrency(current, changed, limit, now, ask.recoverMs)
if ask.refused then
  if ask.retryAfterMs > 0 then
    heldUntil = math.max(heldUntil, now + math.min(ask.retryAfterMs, ask.maxHoldMs))
  end
  if now - lowered >= ask.coolDownMs then
    lowered, changed = now, now
    if current > 1 then current = math.floor(current / 2) else reply.slow = true end
    redis.call('HSET', state, 'lowered', lowered)
    redis.call('PUBLISH', ask.channel, cjson.encode({ current = current, limit = limit }))
  end
end
redis.call('HSET', state, 'heldUntil', heldUntil)
if current < limit then
  redis.call('HSET', state, 'current', current, 'changed', changed)
else
  redis.call('HDEL', state, 'current', 'changed')
end

-- Processes take turns: one slot each, more only when nobody else waits for one.
local free = heldUntil > now and 0 or math.max(0, current - redis.call('ZCARD', slots))
if ask.want > 0 then
  local mine = (free > ahead and 1 or 0) + math.max(0, free - 1 - #others)
  reply.granted = math.min(ask.want, mine)
  for i = 1, reply.granted do redis.call('ZADD', slots, now + ask.ttlMs, ask.candidates[i]) end
  free = free - reply.granted
end
if ask.want > reply.granted then stand(reply.granted > 0) else leave() end
for i = 1, math.min(free, #others) do redis.call('PUBLISH', ask.channel .. ':' .. others[i], '{}') end

keep()
reply.current, reply.limit = current, limit
reply.changedAgoMs = now - changed
reply.holdMs = math.max(0, heldUntil - now)
return cjson.encode(reply)
`;
