-- Each request of a client: which route, which upstream, may it pass.
local answer = require "tidegate.answer"
local body = require "tidegate.body"
local context = require "tidegate.context"
local match = require "tidegate.match"
local metrics = require "tidegate.metrics"
local request = require "tidegate.request"
local tables = require "tidegate.tables"

local var = ngx.var
local byte = string.byte
local STAR = 42
local find_match, counts_of = match.match, metrics.counts_of
local known_host, host_of, upstream_of, generation_of = tables.known_host, tables.host, tables.upstream, tables.generation

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

-- Nearly all say a host as it is spelled, which is known already: then there is nothing to read. Hosts that begin with a
-- star are in the dictionary, and nobody's.
local function known_by(said, generation)
  return said and byte(said) ~= STAR and known_host(said, generation)
end

return function(secure)
  local generation = generation_of()
  local said = var.http_host
  local host = known_by(said, generation)
  local name = host and said or request.host(said)
  if not name then
    return answer(400)
  end
  local target = var.request_uri
  local path = request.path(target)
  if not path then
    return answer(400)
  end
  if generation == 0 then
    -- Whether there is such a route is not known.
    return answer(503)
  end
  local route, status
  route, status, host = find_match(name, path, secure, header_of, host_of, generation, host)
  if route == nil then
    return answer(status, host and "https://" .. name .. target)
  end
  local backend = choose(route)
  local upstream = backend.upstream and upstream_of(backend.upstream, generation)
  context.begin(host, route, upstream, counts_of(host, upstream))
  if not upstream or upstream.endpoints[1] == nil then
    return answer(503)
  end
  if upstream.protocol == "grpc" then
    return ngx.exec("@grpc")
  end
  return body.check(route, upstream)
end
