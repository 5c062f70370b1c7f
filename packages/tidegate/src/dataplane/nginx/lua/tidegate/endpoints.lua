-- Chooses an endpoint of an upstream, and skips endpoints that recently did not answer. Each worker decides from what it
-- has observed itself; workers do not share this state.
local settings = require "tidegate.settings"
local now = ngx.now

local endpoints = {}

-- By endpoint name (address and port). The state survives a change of the upstream and is shared by all upstreams.
local down_until, down_for, in_flight = {}, {}, {}

local function is_tried(tried, name)
  for i = 1, #tried do
    if tried[i] == name then
      return true
    end
  end
  return false
end

function endpoints.is_up(name)
  local till = down_until[name]
  if till == nil then
    return true
  end
  if till > now() then
    return false
  end
  down_until[name] = nil
  return true
end

local is_up = endpoints.is_up

-- Returns the next endpoint in turn, or for least connections the one with the fewest requests. `tried` may be nil.
local function pick(upstream, tried, even_down)
  local list = upstream.endpoints
  local least = upstream.counted
  local best, fewest
  local turn = upstream.turn
  for i = 0, #list - 1 do
    local at = (turn + i) % #list
    local endpoint = list[at + 1]
    if (even_down or is_up(endpoint.name)) and not (tried and is_tried(tried, endpoint.name)) then
      if not least then
        upstream.turn = at + 1
        return endpoint
      end
      local busy = in_flight[endpoint.name] or 0
      if best == nil or busy < fewest then
        best, fewest = endpoint, busy
      end
    end
  end
  if best then
    upstream.turn = turn + 1
  end
  return best
end

-- `choose` gets a function that decides whether an endpoint can be used. If none is left, those in back-off are tried.
function endpoints.pick_by(tried, choose)
  local function is_untried(endpoint)
    return not (tried and is_tried(tried, endpoint.name))
  end
  return choose(function(endpoint)
    return is_untried(endpoint) and is_up(endpoint.name)
  end) or choose(is_untried)
end

-- By endpoint name: how long answers took, and when that was noted.
local times, noted_at = {}, {}

local function weight_of(name)
  return math.exp(-(now() - (noted_at[name] or 0)) / settings.ewma_decay_seconds)
end

local function time_of(name)
  return times[name] and times[name] * weight_of(name) or 0
end

local FORGET_EVERY = 1000
local FORGOTTEN_SECONDS = 0.000001
local noted = 0

-- Deletes times that have no weight any more, also of endpoints that no longer exist.
local function forget_times()
  for name in pairs(times) do
    if time_of(name) < FORGOTTEN_SECONDS then
      times[name], noted_at[name] = nil, nil
    end
  end
end

-- Notes how long an answer took, in seconds. Older times lose weight.
function endpoints.took(name, seconds)
  local weight = times[name] and weight_of(name) or 0
  times[name] = (times[name] or 0) * weight + seconds * (1 - weight)
  noted_at[name] = now()
  noted = noted + 1
  if noted % FORGET_EVERY == 0 then
    forget_times()
  end
end

-- Of two random endpoints, the faster one.
local function pick_timed(upstream, tried)
  return endpoints.pick_by(tried, function(is_usable)
    local usable = {}
    for _, endpoint in ipairs(upstream.endpoints) do
      if is_usable(endpoint) then
        usable[#usable + 1] = endpoint
      end
    end
    local count = #usable
    if count < 2 then
      return usable[1]
    end
    local first = math.random(count)
    local second = math.random(count - 1)
    second = second >= first and second + 1 or second
    local a, b = usable[first], usable[second]
    return time_of(b.name) < time_of(a.name) and b or a
  end)
end

-- If all endpoints are in back-off, one of them is used anyway. Returns nil if all were tried.
function endpoints.pick(upstream, tried)
  local list = upstream.endpoints
  if list[2] == nil and not tried then
    return list[1]
  end
  if upstream.timed then
    return pick_timed(upstream, tried)
  end
  return pick(upstream, tried, false) or pick(upstream, tried, true)
end

-- Deletes the back-off state of endpoints that are up again or no longer exist.
local function forget_old()
  for name in pairs(down_for) do
    if is_up(name) then
      down_for[name] = nil
    end
  end
end

local failures = 0

-- Starts the back-off of an endpoint, or doubles it after a further failure.
function endpoints.failed(name)
  -- Many concurrent requests may fail for the same reason; they count as one failure.
  if is_up(name) then
    local seconds = down_for[name] and down_for[name] * 2 or settings.first_backoff_seconds
    down_for[name] = math.min(seconds, settings.max_backoff_seconds)
    down_until[name] = now() + down_for[name]
  end
  failures = failures + 1
  if failures % FORGET_EVERY == 0 then
    forget_old()
  end
end

-- Ends the back-off.
function endpoints.answered(name)
  if down_for[name] then
    down_until[name], down_for[name] = nil, nil
  end
end

-- Requests in progress are counted only for upstreams with least connections.
function endpoints.began(name)
  in_flight[name] = (in_flight[name] or 0) + 1
end

function endpoints.ended(name)
  local count = (in_flight[name] or 0) - 1
  in_flight[name] = count > 0 and count or nil
end

return endpoints
