-- Handles each request: finds the route and the upstream, and checks whether the request may pass.
local affinity = require "tidegate.affinity"
local answer = require "tidegate.answer"
local body = require "tidegate.body"
local canary = require "tidegate.canary"
local check_head = require "tidegate.head"
local clients = require "tidegate.clients"
local clear_proxy_headers = require "tidegate.proxy_headers"
local context = require "tidegate.context"
local errors = require "tidegate.errors"
local match = require "tidegate.match"
local metrics = require "tidegate.metrics"
local permit = require "tidegate.permit"
local request = require "tidegate.request"
local settings = require "tidegate.settings"
local sections = require "tidegate.sections"
local tables = require "tidegate.tables"

local var = ngx.var
local byte = string.byte
local STAR, HASH = 42, 35
local METHODS = settings.methods
local get_method = ngx.req.get_method
local credentials_of = tables.credentials
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

-- Whether the cookie of the client names an endpoint of the upstream.
local function has_endpoint(own, id, generation)
  local upstream = id and upstream_of(id, generation)
  return upstream and affinity.endpoint(own, upstream) ~= nil
end

-- A canary without endpoints gets no requests. A client that has an endpoint stays there.
local function choose_canary(route, generation)
  local own, sticky = route.canary, route.policy and route.policy.affinity
  if sticky and not sticky.ignoresCanary then
    if has_endpoint(sticky, route.upstream, generation) then
      return nil
    end
    if has_endpoint(sticky, own.upstream, generation) then
      return own
    end
  end
  if not canary.is_chosen(own, header_of) then
    return nil
  end
  local upstream = upstream_of(own.upstream, generation)
  return upstream and upstream.endpoints[1] and own
end

-- Most clients send the host in its normalized form, and it is in the cache already: then nothing needs to be parsed. Hosts
-- that begin with "*" or "#" are excluded: they are keys of the dictionary, but not names that a client may ask for.
local function known_by(header, generation, known_host)
  local first = header and byte(header)
  return first and first ~= STAR and first ~= HASH and known_host(header, generation)
end

-- Only the port for HTTPS speaks HTTP/2, whose heads are not text.
local function status_of_head(secure)
  if not METHODS[get_method()] then
    return 400
  end
  if not secure or var.http2 == "" then
    return check_head()
  end
  local count, is_of_connection = clear_proxy_headers()
  if not count then
    return 431
  end
  -- Otherwise nginx would ask the endpoint to switch protocols, and write its bytes between the frames for the client.
  return is_of_connection and 400
end

-- grpc_pass has no path of its own, so the path of the request is changed. nginx encodes it again.
local function exec_grpc(changed)
  if not changed then
    return ngx.exec("@grpc")
  end
  if changed == true then
    return ngx.exec("@grpc_changed")
  end
  local path, query = string.match(changed, "^([^?]*)%??(.*)$")
  ngx.req.set_uri(request.decoded_once(path), false)
  ngx.req.set_uri_args(query)
  return ngx.exec("@grpc_changed")
end

-- Where a host redirects to: over HTTPS, or to the root of its application.
local function redirection(status, host, secure, authority, target)
  if status == 302 then
    return (secure and "https://" or "http://") .. var.http_host .. host.app_root
  end
  return "https://" .. authority .. target
end

-- `port` is that of a section. Without it, the table is that of one router.
return function(encrypted, port)
  local generation = generation_of()
  -- Before the headers that only proxies may set are removed.
  local about_clients = clients.settings(port, generation)
  local secure = encrypted
  if about_clients then
    secure = clients.believe(about_clients, encrypted)
  end
  local refusal = status_of_head(encrypted)
  if refusal then
    var.tidegate_refusal = refusal
    return ngx.exec("@refused")
  end
  local header = var.http_host
  local host_of, known_host = host_of, known_host
  if port then
    host_of, known_host = sections.hosts(port)
  end
  local host = known_by(header, generation, known_host)
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
  if port and not encrypted and sections.is_identity(host or host_of(name, generation)) then
    return answer(200)
  end
  local route, status, matched, changed, answered
  route, status, host, matched = find_match(name, path, secure, header_of, host_of, generation, host)
  if port and status == 404 and not sections.has_routes(port, generation) then
    return answer(503)
  end
  if route == nil then
    local authority = clients.secure_authority(about_clients, name)
    return answer(status, host and redirection(status, host, secure, authority, target))
  end
  local backend = route.canary and choose_canary(route, generation) or choose(route)
  local upstream = backend.upstream and upstream_of(backend.upstream, generation)
  local section = port and not host.counts and sections.text(port, generation) or nil
  context.begin(host, route, upstream, counts_of(host, upstream, section))
  if route.policy then
    answered, changed = permit(route, {
      encrypted = encrypted,
      secure = secure,
      name = name,
      secure_authority = clients.secure_authority(about_clients, name),
      target = target,
      path = matched,
    }, header_of, host_of)
    if answered then
      return
    end
  end
  if not upstream or upstream.endpoints[1] == nil then
    upstream = errors.instead(route, upstream)
    if not upstream then
      return answer(503)
    end
  end
  if upstream.credentials and not credentials_of(upstream.credentials, generation) then
    -- The router has no certificate for the endpoints, or cannot check theirs.
    return answer(503)
  end
  if upstream.protocol == "grpc" then
    if not (route.policy and (route.policy.external_auth or route.policy.client_certificate)) then
      clear_proxy_headers()
    end
    return exec_grpc(changed)
  end
  return body.check(route, upstream, changed)
end
