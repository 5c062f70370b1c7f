-- Finds the route of a request. Must agree with packages/tidegate/src/ingress/match/match.ts; tests compare the two. Has
-- no side effects: the tables are passed as functions.
local request = require "tidegate.request"

local ffi = require "ffi"
local C = ffi.C
ffi.cdef "int memcmp(const void *a, const void *b, size_t length);"

local byte = string.byte
local SLASH = 47

-- The key of the routes for all hosts: a dictionary cannot have an empty key.
local ALL = "*"

local match = {}

local function matches_path(route, path)
  local wanted = route.path
  if route.exact or #path == #wanted then
    return path == wanted
  end
  -- Compares bytes in place: string.sub would create a string for each comparison.
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

-- `owner` limits the rules to those of one namespace; only the entry for all hosts has `namespaces`.
local function is_usable(host, route, owner)
  return owner == nil or host.namespaces[route.number] == owner
end

local function match_in(host, path, header_of, owner)
  local rules = host.rules
  for i = 1, #rules do
    local route = rules[i]
    if
      matches_path(route, path)
      and (route.headers == nil or matches_headers(route.headers, header_of))
      and is_usable(host, route, owner)
    then
      return route
    end
  end
  local fallback = rules.fallback
  return fallback and is_usable(host, fallback, owner) and fallback or nil
end

-- The namespace of the nearest wildcard above a host without an entry. It owns the host, but does not serve it.
local function owner_above(name, host_of, generation)
  local wildcard = request.wildcard(name)
  while wildcard do
    local host = host_of(wildcard, generation)
    if host then
      return host.namespace
    end
    wildcard = request.wildcard(string.sub(wildcard, 3))
  end
end

-- host_of(name, generation) returns an entry or nil. Returns the route, nil and its host; or nil and the status to answer
-- with, and the host if that is a redirect. `known` is the entry of exactly that host, if the caller has it.
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
  local all = name ~= "" and host_of(ALL, generation)
  if all then
    -- Rules without a host never answer for a host of another namespace.
    local owner = host and host.namespace or owner_above(name, host_of, generation)
    local route = match_in(all, path, header_of, owner)
    if route then
      return route, nil, all
    end
  end
  return nil, 404
end

return match
