-- Hosts and upstreams as workers keep them. Of a host no more than one table: there may be very many of them, and memory
-- that a request touches for the first time in a while is what it spends most of its time on.
local cjson = require "cjson"
local settings = require "tidegate.settings"

local decode = {}

local function timeouts_of(limits)
  if limits.connectTimeoutMs == nil and limits.readTimeoutMs == nil then
    return nil
  end
  return {
    connect = (limits.connectTimeoutMs or settings.connect_timeout_ms) / 1000,
    read = (limits.readTimeoutMs or settings.read_timeout_ms) / 1000,
  }
end

-- With one backend the route is the backend, too. Without any that has a weight it has no upstream.
local function set_backends(route, said)
  local backends, weight = {}, 0
  for _, backend in ipairs(said) do
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

-- The number says which Ingress of a host it is of.
local function set_action(route, action, number)
  local limits = action.limits
  set_backends(route, action.backends)
  route.max_body_bytes = limits.maxBodyBytes or settings.max_body_bytes
  route.timeouts = timeouts_of(limits)
  route.number = number
  return route
end

local function decode_rules(text)
  local said = cjson.decode(text)
  local rules = {}
  for i, route in ipairs(said.routes) do
    local headers = route.headers[1] and route.headers
    rules[i] = set_action({ path = route.path, exact = route.match == "Exact", headers = headers }, route.action, i)
  end
  rules.fallback = said.fallback and set_action({}, said.fallback, #rules + 1)
  return rules
end

-- By a digest of their text. Those that no host has any more are forgotten.
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

-- `metrics.lua` adds where requests are counted.
function decode.host(text)
  local said = cjson.decode(text)
  return {
    host = said.host,
    redirect = said.redirectToHttps == true,
    rules = rules_of(said.rules),
    ingresses = settings.access_log and said.ingresses or nil,
  }
end

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
  -- Another start in each worker: together they would all begin with the same endpoint.
  upstream.turn = before and before.turn or math.random(0, 1023)
  return upstream
end

return decode
