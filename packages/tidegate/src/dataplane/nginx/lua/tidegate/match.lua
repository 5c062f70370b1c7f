-- Finds the route of a request. Must agree with packages/tidegate/src/ingress/match/match.ts; tests compare the two. Has
-- no side effects: the tables are passed as functions.
local path_index = require "tidegate.path_index"
local path_readings = require "tidegate.path_readings"
local pattern = require "tidegate.pattern"
local readings = require "tidegate.readings"
local request = require "tidegate.request"

local ffi = require "ffi"
local C = ffi.C
ffi.cdef "int memcmp(const void *a, const void *b, size_t length);"

local byte = string.byte
local SLASH = 47

-- The key of the routes for all hosts: a dictionary cannot have an empty key.
local ALL = "*"

local match = {}

-- What is left for the current request. Nothing here waits, so requests can share it.
local steps = { left = 0 }

local function matches_path(route, path)
  if route.pattern then
    return pattern.run(route.pattern, path, steps) ~= nil
  end
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

local function find_in(host, path, header_of, owner)
  local rules = host.rules
  for i = 1, #rules do
    local route = rules[i]
    -- Rules of other namespaces take no steps.
    if
      is_usable(host, route, owner)
      and matches_path(route, path)
      and (route.headers == nil or matches_headers(route.headers, header_of))
    then
      return route
    end
  end
  local fallback = rules.fallback
  return fallback and is_usable(host, fallback, owner) and fallback or nil
end

-- Like find_in, with the rules as backends read them. Also returns the path of the rule that was compared.
local function read_in(host, index, path, header_of, owner)
  local read = path_index.find(index, path, function(each)
    return is_usable(host, each.rule, owner)
      and (each.headers == nil or matches_headers(each.headers, header_of))
  end, function(each)
    return pattern.run(each.pattern, path, steps) ~= nil
  end)
  if read then
    return read.rule, read.path
  end
  local fallback = host.rules.fallback
  return fallback and is_usable(host, fallback, owner) and fallback or nil
end

local function guards_of(route)
  return route and route.policy and route.policy.guards
end

local function zone_of(route)
  return route and route.policy and route.policy.zone
end

-- Whether requests of this route are limited, and in another way or another zone than those of the route that was found.
local function has_other_guards(other, found)
  local guards = guards_of(other)
  return guards and not (guards == guards_of(found) and zone_of(other) == zone_of(found))
end

-- The other route limits more than the one that was found; or it limits as much, and its requests count in its own zone.
local function may_replace(found, other)
  return not guards_of(found) or guards_of(found) == guards_of(other)
end

-- Some servers ignore case, or what a name ends with. A guard then also applies to such spellings of its path, unless the user
-- wrote a route for the spelling. Returns the same as `guarded`.
local function folded_in(host, reads, others, safe, matched, path, header_of, owner)
  local tried = {}
  for i = 1, #others do
    local folded = path_readings.folded(others[i])
    if folded == nil then
      return nil, nil, true
    end
    if not tried[folded] and not (reads.is_folded and folded == others[i]) then
      tried[folded] = true
      local other, read = read_in(host, reads.folded, folded, header_of, owner)
      local is_other = read and has_other_guards(other, safe)
      if is_other and not (safe and safe.path and readings.length_of(safe) >= #read) then
        if not may_replace(safe, other) or other.pattern then
          return nil, nil, true
        end
        safe, matched = other, path
      end
    end
  end
  return safe, matched
end

-- Another spelling must not reach another route than the path that a backend reads. Returns the route, the path that it
-- was found with, and true if no route is safe.
local function guarded(host, found, path, header_of, owner)
  local reads = readings.of(host)
  local decoded = request.decoded(path)
  local safe, matched = found, path
  if decoded ~= path or not reads.is_plain then
    local other = read_in(host, reads.decoded, decoded, header_of, owner)
    if has_other_guards(other, found) then
      if not may_replace(found, other) then
        return nil, nil, true
      end
      safe, matched = other, decoded
    end
  end
  local others = path_readings.of(path)
  if not others then
    return nil, nil, true
  end
  for i = 1, #others do
    if others[i] ~= decoded or not reads.is_unambiguous then
      local guards = guards_of((read_in(host, reads.loose, others[i], header_of, owner)))
      -- Few servers read the path like this. If only the zone differs, nothing is open.
      if guards and guards ~= guards_of(safe) then
        return nil, nil, true
      end
    end
  end
  return folded_in(host, reads, others, safe, matched, path, header_of, owner)
end

local function match_in(host, path, header_of, owner)
  local route = find_in(host, path, header_of, owner)
  if host.guarded then
    return guarded(host, route, path, header_of, owner)
  end
  return route, path
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

-- The result of a match, unless the regular expressions gave up: then it is unknown which route the request has.
local function unless_given_up(...)
  if steps.left < 0 then
    return nil, 503
  end
  return ...
end

local function match_both(host, name, path, header_of, host_of, generation)
  local route, matched, unsafe
  if host then
    route, matched, unsafe = match_in(host, path, header_of)
    if route then
      return route, nil, host, matched
    end
    if unsafe then
      return nil, 400
    end
  end
  local all = name ~= "" and host_of(ALL, generation)
  if all then
    -- Rules without a host never answer for a host of another namespace.
    local owner = host and host.namespace or owner_above(name, host_of, generation)
    route, matched, unsafe = match_in(all, path, header_of, owner)
    if route then
      return route, nil, all, matched
    end
    if unsafe then
      return nil, 400
    end
  end
  return nil, 404
end

-- host_of(name, generation) returns an entry or nil. Returns the route, nil, its host, and the path that was compared; or nil
-- and the status to answer with, and the host if that is a redirect. `known` is the entry of exactly that host, if the caller has it.
function match.match(name, path, secure, header_of, host_of, generation, known)
  local host = known or host_of(name == "" and ALL or name, generation)
  if host == nil then
    local wildcard = request.wildcard(name)
    host = wildcard and host_of(wildcard, generation)
  end
  if host and host.app_root and path == "/" then
    return nil, 302, host
  end
  if host and host.redirect and not secure then
    return nil, 308, host
  end
  steps.left = pattern.MAX_STEPS
  return unless_given_up(match_both(host, name, path, header_of, host_of, generation))
end

return match
