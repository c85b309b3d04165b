import { GROWN } from './members.ts';

/**
 * Scripts that store and read the reports of a fleet's processes. Keys: seen (processes by their last report), reports,
 * requests, facts. A key of another type is removed by the next report, and a read returns bounded texts only.
 */
/**
 * One report of a process: its own facts, its requests since the last report, and, if it leads, facts of the fleet. A report
 * that is sent twice, because the reply was lost, is counted once: `serial`.
 */
export const fleetReportScript = (now: string): string => `
${now}
local ask = cjson.decode(ARGV[1])
local seen, reports, requests, facts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
for index, kind in ipairs({ 'zset', 'hash', 'hash', 'hash' }) do
  local is = redis.call('TYPE', KEYS[index]).ok
  if is ~= kind and is ~= 'none' then redis.call('DEL', KEYS[index]) end
end

local function forget(process)
  redis.call('ZREM', seen, process)
  redis.call('HDEL', reports, process, process .. ':serial')
end
-- Also those of a future that there was while Redis' clock was ahead.
for _, range in ipairs({ { '-inf', now - ask.keepMs }, { now + ask.keepMs, '+inf' } }) do
  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, range[1], range[2], 'LIMIT', 0, 100)) do forget(gone) end
end
local tooMany = math.min(100, redis.call('ZCARD', seen) - ask.mostProcesses)
if tooMany > 0 then
  for _, gone in ipairs(redis.call('ZRANGE', seen, 0, tooMany - 1)) do forget(gone) end
end
if redis.call('HLEN', reports) > 4 * ask.mostProcesses then redis.call('DEL', reports) end

local slice = math.floor(now / ask.sliceMs)
if ask.counts and (tonumber(redis.call('HGET', reports, ask.process .. ':serial') or nil) or 0) < ask.serial then
  for name, count in pairs(ask.counts) do
    local field = string.format('%d:%s', slice, name)
    if count > 0 and type(redis.pcall('HINCRBY', requests, field, count)) == 'table' then
      redis.call('HSET', requests, field, count)
    end
  end
  redis.call('HSET', reports, ask.process .. ':serial', ask.serial)
end
local fields = redis.call('HLEN', requests)
if fields > 100000 then redis.call('DEL', requests) end
if fields > 8 * ask.slices then
  for _, field in ipairs(redis.call('HKEYS', requests)) do
    local of = tonumber(string.match(field, '^(%d+):%l+$') or nil)
    if not of or of <= slice - ask.slices or of > slice then redis.call('HDEL', requests, field) end
  end
end

if redis.call('HLEN', facts) > ask.mostFacts then redis.call('DEL', facts) end
for _, fact in ipairs(ask.facts) do
  if fact[2] then
    redis.call('HSET', facts, fact[1], string.format('%.0f ', now) .. fact[2])
  else
    redis.call('HDEL', facts, fact[1])
  end
end

if ask.leaving then
  forget(ask.process)
else
  redis.call('ZADD', seen, now, ask.process)
  redis.call('HSET', reports, ask.process, ask.report)
end
redis.call('PEXPIRE', seen, ask.keepMs)
redis.call('PEXPIRE', reports, ask.keepMs)
redis.call('PEXPIRE', requests, ask.sliceMs * (ask.slices + 1))
redis.call('PEXPIRE', facts, ask.keepFactsMs)
return 1
`;

/**
 * One read, as JSON of `LookAnswer`. After the keys of the facts come those of the limits: state, seen, limits and leases of
 * the concurrency limit, then state, seen and limits of the rate limit.
 */
export const fleetLookScript = (now: string): string => `
${now}${GROWN}
local want = cjson.decode(ARGV[1])
local seen, reports, requests, facts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- The answer, or false where there is none or what stands there is of another type.
local function read(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return false end
  return answer
end
local function bounded(key, field, most)
  local size = read('HSTRLEN', key, field)
  return size and size > 0 and size <= most and read('HGET', key, field)
end
local function number(text)
  local value = tonumber(text or nil)
  return value and math.abs(value) < 1e15 and value or nil
end

local processes = {}
local near = read('ZREVRANGEBYSCORE', seen, now + want.aliveMs, now - want.aliveMs, 'WITHSCORES', 'LIMIT', 0, want.mostProcesses)
for i = 1, near and #near or 0, 2 do
  local text = bounded(reports, near[i], want.mostBytes)
  if text then processes[#processes + 1] = { agoMs = now - tonumber(near[i + 1]), text = text } end
end

local counts = {}
local last = math.floor(now / want.sliceMs)
for slice = last - want.slices + 1, last do
  local fields = {}
  for i, name in ipairs(want.names) do fields[i] = string.format('%d:%s', slice, name) end
  local of = read('HMGET', requests, unpack(fields))
  local row, some = { fromMs = slice * want.sliceMs }, false
  for i, name in ipairs(want.names) do
    local count = of and of[i]
    row[name] = count and #count <= 15 and count or '0'
    some = some or row[name] ~= '0'
  end
  if some then counts[#counts + 1] = row end
end

local told = {}
for _, field in ipairs(want.facts) do
  local text = bounded(facts, field, want.mostBytes)
  local at, rest
  if text then at, rest = string.match(text, '^(%d+) (.*)$') end
  if number(at) then told[field] = { agoMs = now - number(at), text = rest } end
end

-- What a limit's state has, its time, and the smallest setting of its members.
local function lookAt(state, members, limits)
  local function field(name) return number(bounded(state, name, 40)) end
  local of = { timeMs = now + (field('shift') or 0) }
  for _, name in ipairs({ 'current', 'changed', 'heldUntil', 'rate', 'forgetAt' }) do of[name] = field(name) end
  local live = read('ZRANGEBYSCORE', members, of.timeMs - want.memberMs, '+inf', 'LIMIT', 0, want.mostProcesses)
  for _, member in ipairs(live or {}) do
    local limit = number(bounded(limits, member, 40))
    if limit and limit > 0 then of.setting = math.min(of.setting or limit, limit) end
  end
  return of
end
local cap, pace = lookAt(KEYS[5], KEYS[6], KEYS[7]), lookAt(KEYS[9], KEYS[10], KEYS[11])
cap.inFlight = read('ZCOUNT', KEYS[8], cap.timeMs, '+inf') or 0
if cap.current then
  local changed, setting = cap.changed or cap.timeMs, cap.setting or math.huge
  cap.current = grownConcurrency(math.floor(cap.current), changed, setting, cap.timeMs, want.recoverMs)
end
if pace.rate then
  local changed, setting = pace.changed or pace.timeMs, pace.setting or math.huge
  local rate = grownRate(pace.rate, pace.forgetAt or math.huge, changed, setting, pace.timeMs, want.rateRules)
  pace.rate = rate < math.huge and rate or nil
end
return cjson.encode({ nowMs = now, processes = processes, requests = counts, facts = told, cap = cap, pace = pace })
`;
