-- Chooses the endpoint for a request. nginx calls this again after a failed attempt, if it may try another endpoint.
local balancer = require "ngx.balancer"
local context = require "tidegate.context"
local endpoints = require "tidegate.endpoints"
local failure = require "tidegate.failure"
local settings = require "tidegate.settings"

-- nginx knows which of these methods it must not send twice. It would retry a method that it does not know, so such a
-- method gets one attempt only.
local KNOWN = {}
for method in string.gmatch("GET HEAD OPTIONS PUT DELETE TRACE POST PATCH", "%S+") do
  KNOWN[method] = true
end

-- nginx makes one attempt by default. This is set before the first attempt of a request.
local function allow_more_tries(ctx)
  local most = math.min(settings.max_tries, #ctx.upstream.endpoints) - 1
  if most > 0 and KNOWN[ngx.req.get_method()] then
    balancer.set_more_tries(most)
    ctx.more_tries = most
  end
end

-- While another endpoint can be tried, a connection gets a short time only. The connection is what fails if an address has
-- vanished. Once it is made, the request has all the time of its route.
local function set_timeouts(ctx)
  local timeouts = ctx.route.timeouts
  local connect = timeouts and timeouts.connect or settings.connect_timeout_ms / 1000
  local read = timeouts and timeouts.read or settings.read_timeout_ms / 1000
  local left = (ctx.more_tries or 0) - (ctx.tried and #ctx.tried or 0)
  if left > 0 and connect > settings.first_connect_seconds then
    balancer.set_timeouts(settings.first_connect_seconds, read, read)
  elseif timeouts or ctx.tried then
    balancer.set_timeouts(connect, read, read)
  end
end

-- The previous attempt failed: records that, and excludes the endpoint from the next attempts of this request.
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

-- If all endpoints were tried, try again: a kept connection may have been closed by the endpoint just now.
local function pick(ctx)
  return endpoints.pick(ctx.upstream, ctx.tried) or endpoints.pick(ctx.upstream)
end

return function()
  local ctx = context.get()
  if ctx.endpoint then
    leave(ctx)
  else
    allow_more_tries(ctx)
  end
  local endpoint = pick(ctx)
  ctx.endpoint = endpoint.name
  if ctx.upstream.counted then
    endpoints.began(endpoint.name)
  end
  set_timeouts(ctx)
  local ok, why = balancer.set_current_peer(endpoint.address, endpoint.port)
  if not ok then
    ngx.log(ngx.ERR, "endpoint ", endpoint.name, " cannot be used: ", why)
    return ngx.exit(502)
  end
end
