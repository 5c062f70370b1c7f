-- Decodes hosts and upstreams into the tables that workers keep. A host is a single table, because there may be very many
-- of them, and touching memory that is not in the processor's cache is the largest cost of a request.
local cjson = require "cjson"
local settings = require "tidegate.settings"

local decode = {}

-- nil if the route has no timeouts of its own: nginx then uses those of its configuration without a call.
local function timeouts_of(limits)
  if limits.connectTimeoutMs == nil and limits.readTimeoutMs == nil then
    return nil
  end
  return {
    connect = (limits.connectTimeoutMs or settings.connect_timeout_ms) / 1000,
    read = (limits.readTimeoutMs or settings.read_timeout_ms) / 1000,
  }
end

-- A route with one backend holds the upstream itself. If no backend has a weight, the route has no upstream.
local function set_backends(route, decoded)
  local backends, weight = {}, 0
  for _, backend in ipairs(decoded) do
    if backend.weight > 0 then
      backends[#backends + 1] = { upstream = backend.upstream, weight = backend.weight }
      weight = weight + backend.weight
    end
  end
  if backends[2] then
    route.backends, route.weight = backends, weight
  elseif backends[1] then
    route.upstream = backends[1].upstream
  end
end

-- `number` is the index of the Ingress among the Ingresses of the host, for the access log.
local function set_action(route, action, number)
  local limits = action.limits
  set_backends(route, action.backends)
  route.max_body_bytes = limits.maxBodyBytes or settings.max_body_bytes
  route.timeouts = timeouts_of(limits)
  route.number = number
  return route
end

local function decode_rules(text)
  local decoded = cjson.decode(text)
  local rules = {}
  for i, route in ipairs(decoded.routes) do
    local headers = route.headers[1] and route.headers
    rules[i] = set_action({ path = route.path, exact = route.match == "Exact", headers = headers }, route.action, i)
  end
  rules.fallback = decoded.fallback and set_action({}, decoded.fallback, #rules + 1)
  return rules
end

-- Decoded rules by the digest of their text. The table is weak: rules that no host uses are garbage-collected.
local known = setmetatable({}, { __mode = "v" })

local function rules_of(text)
  local digest = ngx.sha1_bin(text)
  local rules = known[digest]
  if rules == nil then
    rules = decode_rules(text)
    known[digest] = rules
  end
  return rules
end

-- `metrics.lua` adds the field `counts` to a host.
function decode.host(text)
  local decoded = cjson.decode(text)
  return {
    host = decoded.host,
    -- The namespace that owns the host; for the entry of all hosts, the namespace of each rule.
    namespace = decoded.namespace,
    namespaces = decoded.namespaces,
    redirect = decoded.redirectToHttps == true,
    rules = rules_of(decoded.rules),
    ingresses = settings.access_log and decoded.ingresses or nil,
  }
end

-- IPv6 addresses get brackets here, once, and not for each request.
function decode.upstream(text, before)
  local upstream = cjson.decode(text)
  upstream.counted = upstream.balance == "leastConnections"
  upstream.label = upstream.namespace .. "/" .. upstream.service
  for _, endpoint in ipairs(upstream.endpoints) do
    if string.find(endpoint.address, ":", 1, true) then
      endpoint.address = "[" .. endpoint.address .. "]"
    end
    endpoint.name = endpoint.address .. ":" .. endpoint.port
  end
  -- Workers start at different endpoints. Otherwise, after a change, all of them would begin with the same one.
  upstream.turn = before and before.turn or math.random(0, 1023)
  return upstream
end

return decode
