-- Each request of a client: which route, which pool, may it pass.
local answer = require "tidegate.answer"
local body = require "tidegate.body"
local context = require "tidegate.context"
local match = require "tidegate.match"
local metrics = require "tidegate.metrics"
local request = require "tidegate.request"
local tables = require "tidegate.tables"

local var = ngx.var
local find_match = match.match
local host_of, pool_of, generation_of = tables.host, tables.pool, tables.generation

-- What came several times has the value that one gets by joining it.
local function header_of(name)
  local value = ngx.req.get_headers(0)[name]
  return type(value) == "table" and table.concat(value, ", ") or value
end

local function choose(route)
  local backends = route.backends
  if backends == nil then
    return route
  end
  local left = math.random() * route.weight
  for i = 1, #backends do
    left = left - backends[i].weight
    if left < 0 then
      return backends[i]
    end
  end
  return backends[#backends]
end

-- Found once for each backend of a route.
local function counts_for(host, backend, pool)
  if not pool then
    return metrics.counts_of(host)
  end
  local counts = backend.counts
  if counts == nil then
    counts = metrics.counts_of(host, pool)
    backend.counts = counts
  end
  return counts
end

return function(secure)
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
  if generation == 0 then
    -- Whether there is such a route is not known.
    return answer(503)
  end
  local route, status, host = find_match(name, path, secure, header_of, host_of, generation)
  if route == nil then
    return answer(status, host and "https://" .. name .. target)
  end
  local backend = choose(route)
  local pool = backend.pool and pool_of(backend.pool, generation)
  context.begin(route, pool, counts_for(host, backend, pool))
  if not pool or pool.endpoints[1] == nil then
    return answer(503)
  end
  if pool.protocol == "grpc" then
    return ngx.exec("@grpc")
  end
  return body.check(route, pool)
end
