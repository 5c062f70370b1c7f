-- Limits the requests of each client, in all workers together. Must agree with
-- packages/tidegate/src/dataplane/embedded/limiter.ts; tests compare the two.
local networks = require "tidegate.networks"

local dict, state = ngx.shared.tidegate_limits, ngx.shared.tidegate_state
local now = ngx.now
local max, format, match = math.max, string.format, string.match

local limits = {}

-- The requests in the bucket with one more. A bucket that does not exist is empty.
local function level_of(key, per_second, time)
  local level, at = match(dict:get(key) or "", "^(%S+) (%S+)$")
  if level == nil then
    return 0
  end
  return max(0, tonumber(level) - (time - tonumber(at)) * per_second + 1)
end

-- False if a bucket is full. Then the request is in no bucket. Another worker may fill the bucket at the same moment, so a few
-- requests more may pass.
local function fill(requests, key)
  local time = now()
  local levels = {}
  for i = 1, #requests do
    local level = level_of(i .. " " .. key, requests[i].perSecond, time)
    if level > requests[i].burst then
      return false
    end
    levels[i] = level
  end
  for i = 1, #requests do
    -- The entry is deleted when the bucket is empty again.
    local seconds = (levels[i] + 1) / requests[i].perSecond
    dict:set(i .. " " .. key, format("%.6f %.3f", levels[i], time), seconds)
  end
  return true
end

-- Each worker counts its own requests: the count of a worker that crashed is ignored.
local function in_progress(key)
  local total = 0
  for id = 0, ngx.worker.count() - 1 do
    local pid = state:get("worker" .. id)
    total = total + (pid and dict:get("c" .. pid .. " " .. key) or 0)
  end
  return total
end

-- Counts a request. Returns false if it exceeds a limit; otherwise true and, if it has to be counted down at its end, a key for
-- `ended`. `zone` is the Ingress, `address` that of the client in binary form.
function limits.begin(limit, zone, address)
  if limit.exempt and networks.has(limit.exempt, address) then
    return true
  end
  local key = zone .. " " .. address
  if limit.connections and in_progress(key) >= limit.connections then
    return false
  end
  if not fill(limit.requests, key) then
    return false
  end
  if not limit.connections then
    return true
  end
  local own = "c" .. ngx.worker.pid() .. " " .. key
  return true, dict:incr(own, 1, 0) and own
end

function limits.ended(own)
  if (dict:incr(own, -1, 0) or 0) <= 0 then
    dict:delete(own)
  end
end

return limits
