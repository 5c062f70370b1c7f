-- Chooses the endpoint for a request. nginx calls this again after a failed attempt, if it may try another endpoint.
local affinity = require "tidegate.affinity"
local balancer = require "ngx.balancer"
local context = require "tidegate.context"
local endpoints = require "tidegate.endpoints"
local failure = require "tidegate.failure"
local hashing = require "tidegate.hashing"
local settings = require "tidegate.settings"

-- nginx knows which of these methods it must not send twice. It would retry a method that it does not know, so such a
-- method gets one attempt only.
local KNOWN = {}
for method in string.gmatch("GET HEAD OPTIONS PUT DELETE TRACE POST PATCH", "%S+") do
  KNOWN[method] = true
end

local function replaces_any(ctx)
  local policy = ctx.route.policy
  return not ctx.is_error and policy and policy.errors and policy.errors.statuses[1] ~= nil
end

-- nginx makes one attempt by default. This is set before the first attempt of a request.
local function allow_more_tries(ctx)
  local retry = ctx.route.retry
  local most = math.min(retry and retry.tries or settings.max_tries, #ctx.upstream.endpoints) - 1
  local is_known = KNOWN[ngx.req.get_method()]
  if most > 0 and is_known then
    balancer.set_more_tries(most)
    ctx.more_tries = most
  end
  if replaces_any(ctx) then
    -- nginx asks once more after the last endpoint, and gets none.
    balancer.set_more_tries((is_known and most or 0) + 1)
  end
end

-- While another endpoint can be tried, a connection gets a short time only. The connection is what fails if an address has
-- vanished. Once it is made, the request has all the time of its route.
local function set_timeouts(ctx)
  local timeouts = ctx.route.timeouts
  local connect = timeouts and timeouts.connect or settings.connect_timeout_ms / 1000
  local read = timeouts and timeouts.read or settings.read_timeout_ms / 1000
  local send = timeouts and timeouts.send or read
  local left = (ctx.more_tries or 0) - (ctx.tried and #ctx.tried or 0)
  if left > 0 and connect > settings.first_connect_seconds then
    balancer.set_timeouts(settings.first_connect_seconds, send, read)
  elseif timeouts or ctx.tried then
    balancer.set_timeouts(connect, send, read)
  end
end

-- The previous attempt failed: records that, and excludes the endpoint from the next attempts of this request.
local function leave(ctx)
  local name = ctx.endpoint
  -- An endpoint that has answered with an error works.
  if failure.is_ours() then
    failure.note(ctx)
  end
  if ctx.upstream.counted then
    endpoints.ended(name)
  end
  ctx.endpoint = false
  ctx.tried = ctx.tried or {}
  table.insert(ctx.tried, name)
end

-- Whether no other endpoint may get the request. nginx has no answer of an endpoint any more, so it cannot be forwarded.
local function is_final(retry)
  local status = failure.status()
  if failure.is_ours() and not (status == 504 and retry.timeout or status ~= 504 and retry.error) then
    return status
  end
  return retry.withinMs > 0 and (ngx.now() - ngx.req.start_time()) * 1000 >= retry.withinMs and status
end

local IDEMPOTENT = { GET = true, HEAD = true, OPTIONS = true, PUT = true, DELETE = true, TRACE = true }

-- The same for routes with a backend for errors: nginx asks for another endpoint after each failure there, also if it must not get
-- the request.
local function is_final_for_errors(ctx)
  local status, retry = failure.status(), ctx.route.retry
  if #ctx.tried > (ctx.more_tries or 0) then
    return status
  end
  if not failure.is_ours() then
    for _, each in ipairs(retry and retry.statuses or {}) do
      if each == status then
        return false
      end
    end
    return status
  end
  local may_repeat = IDEMPOTENT[ngx.req.get_method()] or retry and retry.anyMethod or failure.kind() == "connect"
  return not may_repeat and status
end

-- If all endpoints were tried, try again: a kept connection may have been closed by the endpoint just now.
local function pick(ctx)
  local policy = ctx.route.policy
  if policy and policy.affinity and not ctx.tried then
    local own = affinity.endpoint(policy.affinity, ctx.upstream)
    if own and endpoints.is_up(own.name) then
      return own
    end
  end
  if ctx.hash then
    return endpoints.pick_by(ctx.tried, function(is_usable)
      return hashing.pick(policy.hash_by, ctx.upstream, ctx.hash, is_usable)
    end) or endpoints.pick(ctx.upstream)
  end
  return endpoints.pick(ctx.upstream, ctx.tried) or endpoints.pick(ctx.upstream)
end

return function()
  local ctx = context.get()
  if ctx.endpoint then
    leave(ctx)
    local final = ctx.route.retry and is_final(ctx.route.retry)
    if not final and replaces_any(ctx) then
      final = is_final_for_errors(ctx)
    end
    if final then
      ctx.final = final
      return ngx.exit(ngx.ERROR)
    end
  else
    allow_more_tries(ctx)
  end
  local endpoint = pick(ctx)
  ctx.endpoint = endpoint.name
  if ctx.upstream.counted then
    endpoints.began(endpoint.name)
  end
  set_timeouts(ctx)
  local ok, why = balancer.set_current_peer(endpoint.peer, endpoint.port)
  if not ok then
    ngx.log(ngx.ERR, "endpoint ", endpoint.name, " cannot be used: ", why)
    return ngx.exit(502)
  end
end
