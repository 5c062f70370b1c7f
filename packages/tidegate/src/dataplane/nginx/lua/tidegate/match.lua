-- Where a request goes. Agrees with src/ingress/match/match.ts. Pure: the tables come as functions.
local request = require "tidegate.request"

local ffi = require "ffi"
local C = ffi.C
ffi.cdef "int memcmp(const void *a, const void *b, size_t length);"

local byte = string.byte
local SLASH = 47

-- The table of all hosts; dictionaries have no empty keys.
local ALL = "*"

local match = {}

local function matches_path(route, path)
  local wanted = route.path
  if route.exact or #path == #wanted then
    return path == wanted
  end
  -- Cutting the path would make a string of each piece.
  return wanted == "/" or (byte(path, #wanted + 1) == SLASH and C.memcmp(path, wanted, #wanted) == 0)
end

local function matches_headers(wanted, header_of)
  for i = 1, #wanted do
    if header_of(wanted[i].name) ~= wanted[i].value then
      return false
    end
  end
  return true
end

local function match_in(host, path, header_of)
  local rules = host.rules
  for i = 1, #rules do
    local route = rules[i]
    if matches_path(route, path) and (route.headers == nil or matches_headers(route.headers, header_of)) then
      return route
    end
  end
  return rules.fallback
end

-- host_of(name, generation) -> entry or nil. Returns the route with the host that it is of; or nil and the status that
-- is the answer, with the host when that is a redirect. `known` is the host of that very name, for who has it at hand.
function match.match(name, path, secure, header_of, host_of, generation, known)
  local host = known or host_of(name == "" and ALL or name, generation)
  if host == nil then
    local wildcard = request.wildcard(name)
    host = wildcard and host_of(wildcard, generation)
  end
  if host then
    if host.redirect and not secure then
      return nil, 308, host
    end
    local route = match_in(host, path, header_of)
    if route then
      return route, nil, host
    end
  end
  host = name ~= "" and host_of(ALL, generation)
  local route = host and match_in(host, path, header_of)
  if route then
    return route, nil, host
  end
  return nil, 404
end

return match
