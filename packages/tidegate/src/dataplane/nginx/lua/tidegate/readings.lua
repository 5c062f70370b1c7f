-- The rules of a guarded host with their paths as backends read them. Must agree with
-- packages/tidegate/src/ingress/match/readings.ts; tests compare the two.
local path_index = require "tidegate.path_index"
local path_readings = require "tidegate.path_readings"
local request = require "tidegate.request"

local byte, sub = string.byte, string.sub
local SLASH = 47

local readings = {}

local function decoded(path)
  return { request.decoded(path) }
end

local function every(path)
  return path_readings.of(path) or decoded(path)
end

local function fold(path)
  return path_readings.folded(path) or path
end

local function folded(path)
  local result, seen = {}, {}
  for _, each in ipairs(every(path)) do
    local text = fold(each)
    if not seen[text] then
      seen[text] = true
      result[#result + 1] = text
    end
  end
  return result
end

-- How specific a rule is. A rule that users wrote in another case, and that is as long, is not hidden by another one.
function readings.length_of(rule)
  return rule.pattern and #rule.path or #fold(request.decoded(rule.path))
end

-- A regular expression stays as it is. A Prefix never ends with a slash.
local function paths_as(rule, reading)
  if rule.pattern then
    return { rule.path }
  end
  local paths = reading(rule.path)
  for i = 1, rule.exact and 0 or #paths do
    if #paths[i] > 1 and byte(paths[i], -1) == SLASH then
      paths[i] = sub(paths[i], 1, -2)
    end
  end
  return paths
end

local function kind_of(read)
  return read.pattern and 3 or read.exact and 1 or 2
end

-- The order of precedence. Of two rules that a backend reads as the same path, the guarded one wins.
local function is_before(a, b)
  if #a.path ~= #b.path then
    return #a.path > #b.path
  end
  if kind_of(a) ~= kind_of(b) then
    return kind_of(a) < kind_of(b)
  end
  if a.pattern and a.path ~= b.path then
    return a.path > b.path
  end
  local a_headers, b_headers = a.headers and #a.headers or 0, b.headers and #b.headers or 0
  if a_headers ~= b_headers then
    return a_headers > b_headers
  end
  if a.guarded ~= b.guarded then
    return a.guarded
  end
  return a.index < b.index
end

local function read_as(rules, reading)
  local reads, is_plain = {}, true
  for i = 1, #rules do
    local rule = rules[i]
    for _, path in ipairs(paths_as(rule, reading)) do
      is_plain = is_plain and path == rule.path
      reads[#reads + 1] = {
        rule = rule,
        path = path,
        exact = rule.exact,
        pattern = rule.pattern,
        headers = rule.headers,
        guarded = rule.policy ~= nil and rule.policy.guards ~= nil,
        index = #reads,
      }
    end
  end
  table.sort(reads, is_before)
  return reads, is_plain
end

-- Rules are prepared when they are needed for the first time, and keep the result. Equal rules without a host may belong to
-- other namespaces, so the entry of all hosts keeps its own.
function readings.of(host)
  local rules, namespaces = host.rules, host.namespaces
  local keeper = namespaces and host or rules
  local known = keeper.readings
  if known == nil then
    local as_decoded, is_plain = read_as(rules, decoded)
    local loose, is_unambiguous = read_as(rules, every)
    local as_folded, is_folded = read_as(rules, folded)
    known = {
      decoded = path_index.new(as_decoded, namespaces),
      is_plain = is_plain,
      loose = path_index.new(loose, namespaces),
      is_unambiguous = is_unambiguous,
      folded = path_index.new(as_folded, namespaces),
      is_folded = is_folded,
    }
    keeper.readings = known
  end
  return known
end

return readings
