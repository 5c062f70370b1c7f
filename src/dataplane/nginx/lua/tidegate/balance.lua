-- Which endpoint gets the request. Called again when one gave no answer and another may be asked.
local balancer = require "ngx.balancer"
local endpoints = require "tidegate.endpoints"
local settings = require "tidegate.settings"

-- More endpoints than these are not asked for one request: what they all refuse is at fault itself.
local MOST_TRIES = 3

-- nginx knows which methods it must not send twice; of those that it has never heard of nobody does.
local KNOWN = {}
for method in string.gmatch("GET HEAD OPTIONS PUT DELETE TRACE POST PATCH", "%S+") do
  KNOWN[method] = true
end

local function more_tries(pool)
  local most = math.min(MOST_TRIES, #pool.endpoints) - 1
  if most > 0 and KNOWN[ngx.req.get_method()] then
    balancer.set_more_tries(most)
  end
end

return function()
  local ctx = ngx.ctx
  local pool = ctx.pool
  if ctx.endpoint then
    local name = ctx.endpoint
    endpoints.failed(name)
    endpoints.ended(name)
    ctx.endpoint = nil
    ctx.tried = ctx.tried or {}
    table.insert(ctx.tried, name)
  else
    more_tries(pool)
  end
  local endpoint = endpoints.pick(pool, ctx.tried)
  if endpoint == nil then
    return ngx.exit(502)
  end
  ctx.endpoint = endpoint.name
  endpoints.began(endpoint.name)
  local limits = ctx.action.limits
  balancer.set_timeouts(
    (limits.connectTimeoutMs or settings.connect_timeout_ms) / 1000,
    (limits.readTimeoutMs or settings.read_timeout_ms) / 1000,
    (limits.readTimeoutMs or settings.read_timeout_ms) / 1000
  )
  local ok, err = balancer.set_current_peer(endpoint.address, endpoint.port)
  if not ok then
    ngx.log(ngx.ERR, "endpoint ", endpoint.name, " can not be used: ", err)
    return ngx.exit(502)
  end
end
