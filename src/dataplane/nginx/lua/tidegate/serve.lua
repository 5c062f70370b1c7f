-- Each request of a client: which route, which pool, may it pass.
local answer = require "tidegate.answer"
local match = require "tidegate.match"
local request = require "tidegate.request"
local tables = require "tidegate.tables"

local var = ngx.var
local find_match = match.match
local host_of, pool_of, generation_of = tables.host, tables.pool, tables.generation

local serve = {}

local function header_of(name)
  return var["http_" .. string.gsub(name, "-", "_")]
end

local function choose(action)
  local backends = action.backends
  if #backends < 2 then
    return backends[1]
  end
  local left = math.random() * action.weight
  for i = 1, #backends do
    left = left - backends[i].weight
    if left < 0 then
      return backends[i]
    end
  end
end

function serve.route(secure)
  local name = request.host(var.http_host)
  if not name then
    return answer(400)
  end
  local target = var.request_uri
  local path = request.path(target)
  if not path then
    return answer(400)
  end
  local generation = generation_of()
  local action, status, host = find_match(name, path, secure, header_of, host_of, generation)
  if action == nil then
    return answer(status, host and "https://" .. name .. target)
  end

  local backend = choose(action)
  local pool = backend and pool_of(backend.pool, generation)
  local ctx = { host = host, action = action, pool = pool }
  ngx.ctx = ctx
  if pool == nil or pool.endpoints[1] == nil then
    return answer(503)
  end
  if pool.protocol == "grpc" then
    return serve.hand_over(ctx, "@grpc")
  end
  if pool.protocol == "https" then
    return serve.hand_over(ctx, "@https")
  end
end

-- What is known of a request is lost on its way to another location; there it is taken up again.
local handed, last = {}, 0

function serve.hand_over(ctx, location)
  last = last + 1
  handed[last] = ctx
  var.tidegate_handed = last
  return ngx.exec(location)
end

function serve.take_over()
  local number = tonumber(var.tidegate_handed)
  ngx.ctx = handed[number]
  handed[number] = nil
end

return serve
