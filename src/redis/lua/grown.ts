/**
 * The limits as they have grown since they were lowered: the rules of core/model/limit-rules.ts in Lua, for the scripts of the
 * limits and for the look at the fleet, which reads what anybody may have written. Each answers the limit and when it changed.
 */
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
