-- The shared dictionaries, and how workers read what is in them. Everything in them is data of the agent.
local cjson = require "cjson"
local entries = require "tidegate.entries"

local shared = ngx.shared
local state = shared.tidegate_state

local function decode_action(action)
  local total = 0
  for _, backend in ipairs(action.backends) do
    total = total + backend.weight
  end
  action.weight = total
  action.timed = action.limits.connectTimeoutMs ~= nil or action.limits.readTimeoutMs ~= nil
  return action
end

local function decode_host(text)
  local host = cjson.decode(text)
  for _, route in ipairs(host.routes) do
    route.exact = route.match == "Exact"
    route.headers = route.headers[1] and route.headers
    decode_action(route.action)
  end
  if host.fallback then
    decode_action(host.fallback)
  end
  host.redirect = host.redirectToHttps == true
  return host
end

local function decode_pool(text, before)
  local pool = cjson.decode(text)
  pool.counted = pool.balance == "leastConnections"
  pool.label = pool.namespace .. "/" .. pool.service
  for _, endpoint in ipairs(pool.endpoints) do
    if string.find(endpoint.address, ":", 1, true) then
      endpoint.address = "[" .. endpoint.address .. "]"
    end
    endpoint.name = endpoint.address .. ":" .. endpoint.port
  end
  -- Another start in each worker: together they would all begin with the same endpoint.
  pool.turn = before and before.turn or math.random(0, 1023)
  return pool
end

return {
  host = entries.new(shared.tidegate_hosts, decode_host),
  pool = entries.new(shared.tidegate_pools, decode_pool),
  generation = function()
    return state:get("generation")
  end,
}
