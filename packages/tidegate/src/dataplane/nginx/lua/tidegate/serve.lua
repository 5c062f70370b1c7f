-- Handles each request: finds the route and the upstream, and checks whether the request may pass.
local answer = require "tidegate.answer"
local body = require "tidegate.body"
local check_head = require "tidegate.head"
local clear_proxy_headers = require "tidegate.proxy_headers"
local context = require "tidegate.context"
local match = require "tidegate.match"
local metrics = require "tidegate.metrics"
local request = require "tidegate.request"
local settings = require "tidegate.settings"
local tables = require "tidegate.tables"

local var = ngx.var
local byte = string.byte
local STAR = 42
local METHODS = settings.methods
local get_method = ngx.req.get_method
local find_match, counts_of = match.match, metrics.counts_of
local known_host, host_of, upstream_of, generation_of = tables.known_host, tables.host, tables.upstream, tables.generation

-- Values of a header that was sent several times are joined, as RFC 9110 (section 5.3) allows.
local function header_of(name)
  local value = ngx.req.get_headers(0)[name]
  return type(value) == "table" and table.concat(value, ", ") or value
end

-- Chooses a backend by weight. A route with a single backend is its own backend; see decode.lua.
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

-- Most clients send the host in its normalized form, and it is in the cache already: then nothing needs to be parsed. Hosts
-- that begin with "*" are excluded: wildcards are keys of the dictionary, but not names that a client may ask for.
local function known_by(header, generation)
  return header and byte(header) ~= STAR and known_host(header, generation)
end

-- Only the port for HTTPS speaks HTTP/2, whose heads are not text.
local function status_of_head(secure)
  if not METHODS[get_method()] then
    return 400
  end
  if not secure or var.http2 == "" then
    return check_head()
  end
  return not clear_proxy_headers() and 431
end

return function(secure)
  local refusal = status_of_head(secure)
  if refusal then
    var.tidegate_refusal = refusal
    return ngx.exec("@refused")
  end
  local generation = generation_of()
  local header = var.http_host
  local host = known_by(header, generation)
  local name = host and header or request.host(header)
  if not name then
    return answer(400)
  end
  local target = var.request_uri
  local path = request.path(target)
  if not path then
    return answer(400)
  end
  if generation == 0 then
    -- There is no table yet: it is unknown whether the route exists, so the response cannot be 404.
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
    clear_proxy_headers()
    return ngx.exec("@grpc")
  end
  return body.check(route, upstream)
end
