-- Decodes hosts and upstreams into the tables that workers keep. A host is a single table, because there may be very many
-- of them, and touching memory that is not in the processor's cache is the largest cost of a request.
local canary = require "tidegate.canary"
local cjson = require "cjson"
local networks = require "tidegate.networks"
local pattern = require "tidegate.pattern"
local policy = require "tidegate.policy"
local responses = require "tidegate.responses"
local settings = require "tidegate.settings"

local decode = {}

-- nil if the route has no timeouts of its own: nginx then uses those of its configuration without a call.
local function timeouts_of(limits)
  if limits.connectTimeoutMs == nil and limits.readTimeoutMs == nil and limits.sendTimeoutMs == nil then
    return nil
  end
  return {
    connect = (limits.connectTimeoutMs or settings.connect_timeout_ms) / 1000,
    send = (limits.sendTimeoutMs or settings.read_timeout_ms) / 1000,
    read = (limits.readTimeoutMs or settings.read_timeout_ms) / 1000,
  }
end

-- The location that proxies the requests of the route, if it is not the usual one. nginx has the statuses after which it tries
-- another endpoint, and the size of heads, only in its configuration: there is a location for each combination.
local function location_of(limits, errors)
  local retry = limits.retry
  local is_replaced = errors and errors.statuses[1]
  local is_unusual = retry and (retry.statuses[1] or retry.anyMethod) or limits.largeHead or is_replaced
  if not is_unusual then
    return nil
  end
  local wanted, number = {}, 0
  for _, status in ipairs(retry and retry.statuses or {}) do
    wanted[status] = true
  end
  -- nginx asks for another endpoint after these statuses, and balance.lua gives none.
  for _, status in ipairs(errors and errors.statuses or {}) do
    wanted[status] = true
  end
  for i, status in ipairs(settings.retried_statuses) do
    number = number + (wanted[status] and 2 ^ (i - 1) or 0)
  end
  return string.format("@own%d%s", number, (is_replaced or retry and retry.anyMethod) and "any" or "")
end

-- A route with one backend holds the upstream itself. If no backend has a weight, the route has no upstream.
local function set_backends(route, decoded)
  local backends, weight = {}, 0
  for _, backend in ipairs(decoded) do
    if backend.canary then
      route.canary = canary.prepare(backend.canary, backend.upstream)
    elseif backend.weight > 0 then
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
local function set_action(route, action, number, policies)
  local limits = action.limits
  set_backends(route, action.backends)
  route.max_body_bytes = limits.maxBodyBytes or settings.max_body_bytes
  route.timeouts = timeouts_of(limits)
  route.retry = limits.retry
  -- nil for most routes: they cost nothing more.
  local shared = action.policy and policies[action.policy]
  route.policy = action.rewrite and policy.with_rewrite(shared, action.rewrite) or shared
  route.location = location_of(limits, shared and shared.errors)
  route.number = number
  return route
end

local function decode_rules(text)
  local decoded = cjson.decode(text)
  local rules, policies = {}, {}
  for i, each in ipairs(decoded.policies) do
    local decoded_policy = cjson.decode(each)
    policies[i] = policy.prepare(decoded_policy)
    policies[i].responses = decoded_policy.responses and responses.prepare(decoded_policy.responses)
  end
  for i, route in ipairs(decoded.routes) do
    local headers = route.headers[1] and route.headers
    local rule = { path = route.path, exact = route.match == "Exact", headers = headers }
    rule.pattern = route.pattern and pattern.prepare(route.pattern)
    rules[i] = set_action(rule, route.action, i, policies)
  end
  rules.fallback = decoded.fallback and set_action({}, decoded.fallback, #rules + 1, policies)
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

-- What the class says about clients; see clients.lua.
local function clients_of(decoded)
  return {
    ports = decoded.ports,
    trusted = decoded.trusted and networks.prepare(decoded.trusted),
    header = decoded.header,
    whole_url = decoded.wholeUrl,
    full_forwarded_for = decoded.fullForwardedFor,
  }
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
    app_root = decoded.appRoot,
    handshake = decoded.handshake,
    guarded = decoded.guarded == true,
    is_identity = decoded.isIdentity == true,
    section = decoded.section,
    clients = decoded.clients and clients_of(decoded.clients),
    rules = rules_of(decoded.rules),
    ingresses = settings.access_log and decoded.ingresses or nil,
  }
end

-- IPv6 addresses get brackets here, once, and not for each request.
function decode.upstream(text, before)
  local upstream = cjson.decode(text)
  upstream.counted = upstream.balance == "leastConnections"
  upstream.timed = upstream.balance == "ewma"
  upstream.label = upstream.namespace .. "/" .. upstream.service
  for _, endpoint in ipairs(upstream.endpoints) do
    if string.find(endpoint.address, ":", 1, true) then
      endpoint.address = "[" .. endpoint.address .. "]"
    end
    endpoint.name = endpoint.address .. ":" .. endpoint.port
    -- What nginx connects to. TLS with settings of its own is that of the agent; see relays.ts.
    endpoint.peer = endpoint.relay and "unix:" .. settings.relay_directory .. "/" .. endpoint.relay or endpoint.address
  end
  upstream.relayed = upstream.endpoints[1] and upstream.endpoints[1].relay ~= nil
  -- Workers start at different endpoints. Otherwise, after a change, all of them would begin with the same one.
  upstream.turn = before and before.turn or math.random(0, 1023)
  return upstream
end

function decode.credentials(text)
  local credentials = cjson.decode(text)
  local hashes = {}
  for _, hash in pairs(credentials.users) do
    hashes[#hashes + 1] = hash
  end
  -- In an order that does not depend on the worker.
  table.sort(hashes)
  credentials.hashes = hashes
  return credentials
end

return decode
