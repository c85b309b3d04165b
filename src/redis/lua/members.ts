/** What the limits' scripts begin with. ARGV[1]: JSON. KEYS: state, seen, limits, line, then the script's own. */

/** Sets `now`, in milliseconds, by Redis' own clock, not by the machines' clocks. It may step: see MEMBERS. */
export const REDIS_NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * Members are the processes that have reported lately. Sets:
 *   now              never goes back: if Redis' clock was set back, it continues from the latest moment that it has shown
 *   silentMs         since the last exchange of anyone; a clock that was set forward looks like a silence
 *   limit             the smallest that a member is configured with; infinite when none has one
 *   ahead, others     live processes in the line: how many before this one, and all of them in order
 *   stand(anew)       take a place in the line, or a new one at its end; leave() gives it up
 */
export const MEMBERS = `
local ask = cjson.decode(ARGV[1])
local state, seen, limits, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local function field(name) return tonumber(redis.call('HGET', state, name) or nil) end

local shift = field('shift') or 0
now = now + shift
local latest = field('latest') or now
if now < latest then
  redis.call('HSET', state, 'shift', shift + latest - now)
  now = latest
end
local silentMs = now - latest
redis.call('HSET', state, 'latest', now)

local function forget(process)
  redis.call('ZREM', seen, process)
  redis.call('HDEL', limits, process)
  redis.call('ZREM', line, process)
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', now - ask.memberMs)) do forget(gone) end

redis.call('ZADD', seen, now, ask.process)
if ask.limit > 0 then redis.call('HSET', limits, ask.process, ask.limit) end
local limit = math.huge
for _, each in ipairs(redis.call('HVALS', limits)) do limit = math.min(limit, tonumber(each)) end
if ask.leaving then forget(ask.process) end

local place = redis.call('ZSCORE', line, ask.process)
local ahead, others = 0, {}
local waiting = redis.call('ZRANGE', line, 0, -1, 'WITHSCORES')
for i = 1, #waiting, 2 do
  local process = waiting[i]
  -- Who waits asks often; who has not asked for so long is dead or stuck, and keeps nobody back.
  if process ~= ask.process and tonumber(redis.call('ZSCORE', seen, process) or 0) >= now - ask.patienceMs then
    others[#others + 1] = process
    if not place or tonumber(waiting[i + 1]) < tonumber(place) then ahead = ahead + 1 end
  end
end

local function stand(anew)
  if place and not anew then return end
  redis.call('ZADD', line, redis.call('HINCRBY', state, 'ticket', 1), ask.process)
end
local function leave() redis.call('ZREM', line, ask.process) end

local function keep()
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ask.keepMs) end
end
`;

/** How limits grow after they were lowered, and when they changed, by the rules of core/model/limit-rules.ts. */
export const GROWN = `
local function grownConcurrency(current, changed, limit, now, recoverMs)
  local steps = math.max(0, math.floor((now - changed) / recoverMs))
  return math.min(limit, current + steps), changed + steps * recoverMs
end
local function grownRate(rate, forgetAt, changed, limit, now, rules)
  for _ = 1, math.min(1000, math.floor((now - changed) / rules.recoverMs)) do
    if rate >= limit then break end
    rate, changed = rate * rules.growFactor, changed + rules.recoverMs
    if limit == math.huge and rate >= forgetAt then rate = math.huge end
  end
  return math.min(rate, limit), changed
end
`;
