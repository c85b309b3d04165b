import { GROWN, MEMBERS } from './members.ts';

/** One exchange with the rate limit: a turn, turns taken while there was none, or a slow-down. JSON: -1 is none. */
export const rateLimitScript = (now: string): string => `
${now}${MEMBERS}${GROWN}
local turns = KEYS[5]
local none = -1
local reply = { granted = false, waitMs = 0 }

-- What everyone did in the last minute, in twelve slices: a rate limit to begin with where none is configured.
local slice = math.floor(now / 5000)
if ask.taken > 0 then redis.call('HINCRBY', turns, slice, ask.taken) end
redis.call('HSETNX', state, 'started', now)
local function observed()
  local sum, seen = 0, redis.call('HGETALL', turns)
  for i = 1, #seen, 2 do if tonumber(seen[i]) > slice - 12 then sum = sum + tonumber(seen[i + 1]) end end
  local span = math.min(60000, math.max(ask.leastObservedMs, now - field('started')))
  return math.max(ask.leastObservedPerMinute, sum * 60000 / span)
end
if redis.call('HLEN', turns) > 24 then
  for _, old in ipairs(redis.call('HKEYS', turns)) do
    if tonumber(old) <= slice - 12 then redis.call('HDEL', turns, old) end
  end
end

local rate, forgetAt = field('rate') or limit, field('forgetAt') or math.huge
local changed, lowered = field('changed') or now, field('lowered') or -math.huge
rate, changed = grownRate(rate, forgetAt, changed, limit, now, ask)
if rate == math.huge then forgetAt = math.huge end
if ask.slow and now - lowered >= ask.coolDownMs then
  local from = rate == math.huge and observed() or rate
  rate = math.max(math.min(ask.slowestPerMinute, limit), from / 2)
  if limit == math.huge and forgetAt == math.huge then forgetAt = rate * ask.forgetFactor end
  lowered, changed = now, now
  redis.call('HSET', state, 'lowered', lowered)
  redis.call('PUBLISH', ask.channel, '{}')
end
if rate < limit then
  redis.call('HSET', state, 'rate', rate, 'changed', changed)
else
  redis.call('HDEL', state, 'rate', 'changed')
end
-- Once forgotten, the next rate limit begins with what is seen then.
if rate < math.huge and forgetAt < math.huge then
  redis.call('HSET', state, 'forgetAt', forgetAt)
else
  redis.call('HDEL', state, 'forgetAt')
end

if rate < math.huge then
  local interval = math.ceil(60000 / rate)
  local last = field('last') or -math.huge
  -- A turn that came too late for whoever asked, and that nobody has taken after it.
  if last == ask.unused then last = last - interval end
  if ask.want > 0 and ahead == 0 and now >= last + interval then
    reply.granted, reply.turn, last = true, now, now
    ahead = #others
  end
  if last > -math.huge then redis.call('HSET', state, 'last', last) end
  reply.waitMs = math.max(0, last + interval - now) + ahead * interval
end
local left = ask.want - (reply.granted and 1 or 0)
if left > 0 and rate < math.huge then stand(reply.granted) else leave() end

keep()
reply.rate = rate == math.huge and none or rate
reply.limit = limit == math.huge and none or limit
reply.forgetAt = forgetAt == math.huge and none or forgetAt
reply.changedAgoMs = now - changed
return cjson.encode(reply)
`;
