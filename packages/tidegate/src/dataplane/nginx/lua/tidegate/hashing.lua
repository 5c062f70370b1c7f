-- Sends requests with the same key to the same endpoint. Must agree with packages/tidegate/src/ingress/policy/hashing.ts; tests
-- compare the two.
local cookies = require "tidegate.cookies"

local var = ngx.var
local sub, find, match = string.sub, string.find, string.match

local hashing = {}

local POINTS_PER_ENDPOINT = 64

local function point_of(text)
  return tonumber(sub(ngx.md5(text), 1, 8), 16)
end

local function query_of(target)
  local at = find(target, "?", 1, true)
  return at and sub(target, at + 1) or ""
end

-- The first argument with this name, as it was sent.
local function argument_of(query, name)
  for part in string.gmatch(query, "[^&]+") do
    if sub(part, 1, #name + 1) == name .. "=" then
      return sub(part, #name + 2)
    end
  end
  return ""
end

local VALUES = {
  header = function(part, facts)
    return facts.header_of(part.name) or ""
  end,
  cookie = function(part)
    return cookies.get(part.name)
  end,
  argument = function(part, facts)
    return argument_of(query_of(facts.target), part.name)
  end,
  host = function(_, facts)
    return facts.name
  end,
  request_uri = function(_, facts)
    return facts.target
  end,
  uri = function(_, facts)
    return match(facts.target, "^[^?]*")
  end,
  args = function(_, facts)
    return query_of(facts.target)
  end,
  scheme = function()
    return var.tidegate_scheme
  end,
  remote_addr = function()
    return var.tidegate_client
  end,
  request_method = function()
    return ngx.req.get_method()
  end,
}

-- The parts of a key for the current request. `facts`: name of the host, target, header_of.
function hashing.parts(key, facts)
  local parts = {}
  for i, part in ipairs(key) do
    parts[i] = type(part) == "table" and VALUES[part.kind](part, facts) or part
  end
  return parts
end

-- The hash of the current request.
function hashing.of(own, facts)
  return point_of(table.concat(hashing.parts(own.key, facts)))
end

-- By upstream. Upstreams are replaced when they change, and the table is weak.
local rings = setmetatable({}, { __mode = "k" })

local function ring_of(upstream)
  local ring = rings[upstream]
  if ring == nil then
    ring = {}
    for _, endpoint in ipairs(upstream.endpoints) do
      for at = 0, POINTS_PER_ENDPOINT - 1 do
        ring[#ring + 1] = { point = point_of(endpoint.name .. " " .. at), endpoint = endpoint }
      end
    end
    table.sort(ring, function(a, b)
      if a.point ~= b.point then
        return a.point < b.point
      end
      return a.endpoint.name < b.endpoint.name
    end)
    rings[upstream] = ring
  end
  return ring
end

-- The first position whose point is not before the hash.
local function position(ring, hash)
  local low, high = 1, #ring + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ring[middle].point < hash then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- The endpoint for a hash, or a random one of `own.subset`. `is_usable` decides about each; nil if none is usable.
function hashing.pick(own, upstream, hash, is_usable)
  local ring = ring_of(upstream)
  local wanted = own.subset or 1
  local from, seen, count, usable = position(ring, hash), {}, 0, {}
  for at = 0, #ring - 1 do
    local endpoint = ring[(from - 1 + at) % #ring + 1].endpoint
    if not seen[endpoint] then
      seen[endpoint] = true
      count = count + 1
      if is_usable(endpoint) then
        usable[#usable + 1] = endpoint
      end
      if count >= wanted and usable[1] then
        break
      end
    end
  end
  return usable[1] and usable[math.random(#usable)]
end

return hashing
