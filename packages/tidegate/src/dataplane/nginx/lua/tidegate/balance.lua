-- Which endpoint gets the request. Called again when one gave no answer and another may be asked.
local balancer = require "ngx.balancer"
local context = require "tidegate.context"
local endpoints = require "tidegate.endpoints"
local failure = require "tidegate.failure"

-- More endpoints than these are not asked for one request: what they all refuse is at fault itself.
local MOST_TRIES = 3

-- nginx knows which methods it must not send twice; of those that it has never heard of nobody does.
local KNOWN = {}
for method in string.gmatch("GET HEAD OPTIONS PUT DELETE TRACE POST PATCH", "%S+") do
  KNOWN[method] = true
end

local function allow_more_tries(upstream)
  local most = math.min(MOST_TRIES, #upstream.endpoints) - 1
  if most > 0 and KNOWN[ngx.req.get_method()] then
    balancer.set_more_tries(most)
  end
end

local function leave(ctx)
  local name = ctx.endpoint
  failure.note(ctx)
  if ctx.upstream.counted then
    endpoints.ended(name)
  end
  ctx.endpoint = false
  ctx.tried = ctx.tried or {}
  table.insert(ctx.tried, name)
end

-- A connection that was kept may have been closed at the other end just now: then the only endpoint is asked again.
local function pick(ctx)
  return endpoints.pick(ctx.upstream, ctx.tried) or endpoints.pick(ctx.upstream)
end

return function()
  local ctx = context.get()
  if ctx.endpoint then
    leave(ctx)
  else
    allow_more_tries(ctx.upstream)
  end
  local endpoint = pick(ctx)
  ctx.endpoint = endpoint.name
  if ctx.upstream.counted then
    endpoints.began(endpoint.name)
  end
  local timeouts = ctx.route.timeouts
  if timeouts then
    balancer.set_timeouts(timeouts.connect, timeouts.read, timeouts.read)
  end
  local ok, why = balancer.set_current_peer(endpoint.address, endpoint.port)
  if not ok then
    ngx.log(ngx.ERR, "endpoint ", endpoint.name, " can not be used: ", why)
    return ngx.exit(502)
  end
end
