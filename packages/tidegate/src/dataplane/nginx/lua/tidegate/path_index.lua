-- Finds rules by path without a comparison with each of them. Must agree with
-- packages/tidegate/src/ingress/match/path-index.ts, which explains how it works; tests compare the two.
local ffi = require "ffi"
local C = ffi.C
ffi.cdef "int memcmp(const void *a, const void *b, size_t length);"

local byte = string.byte
local SLASH = 47

local path_index = {}

-- Leaves out rules that follow one of the same namespace that matches in any case: thousands of paths may be read as one.
local function add(list, read, namespace)
  if list.closed[namespace] then
    return
  end
  list.closed[namespace] = read.headers == nil
  list[#list + 1] = read
end

local function starts_with(text, start)
  return #text >= #start and C.memcmp(text, start, #start) == 0
end

-- `reads` are in the order of precedence. `namespaces` has the namespace of each rule, if they come from several.
function path_index.new(reads, namespaces)
  local index, by_path, patterns = {}, {}, {}
  for order = 1, #reads do
    local read = reads[order]
    read.order = order
    if read.pattern then
      patterns[#patterns + 1] = read
    else
      local entry = by_path[read.path]
      if entry == nil then
        entry = { path = read.path, exact = { closed = {} }, prefix = { closed = {} } }
        by_path[read.path] = entry
        index[#index + 1] = entry
      end
      add(read.exact and entry.exact or entry.prefix, read, namespaces and namespaces[read.rule.number] or "")
    end
  end
  table.sort(index, function(a, b)
    return a.path < b.path
  end)
  for i = 2, #index do
    local above = index[i - 1]
    while above and not starts_with(index[i].path, above.path) do
      above = above.above
    end
    index[i].above = above
  end
  index.patterns = patterns
  index.root = by_path["/"]
  return index
end

-- The last entry that is not greater than the path.
local function entry_before(index, path)
  local from, to = 1, #index + 1
  while from < to do
    local middle = math.floor((from + to) / 2)
    if index[middle].path <= path then
      from = middle + 1
    else
      to = middle
    end
  end
  return index[from - 1]
end

-- How many bytes two texts have in common at their beginning.
local function common_length(a, b)
  local from, to = 0, math.min(#a, #b)
  while from < to do
    local middle = math.ceil((from + to) / 2)
    if C.memcmp(a, b, middle) == 0 then
      from = middle
    else
      to = middle - 1
    end
  end
  return from
end

local function first(list, accepts)
  for i = 1, #list do
    if accepts(list[i]) then
      return list[i]
    end
  end
end

local function literal(index, path, accepts)
  local entry = entry_before(index, path)
  local common = entry and common_length(entry.path, path)
  while entry do
    local length = #entry.path
    if length <= common then
      local is_whole = length == #path
      if is_whole or byte(path, length + 1) == SLASH then
        local found = is_whole and first(entry.exact, accepts) or first(entry.prefix, accepts)
        if found then
          return found
        end
      end
    end
    entry = entry.above
  end
  -- It matches all paths, also a reading that begins with a backslash.
  return index.root and first(index.root.prefix, accepts)
end

-- The first of the rules that the path and accepts(read) agree to. runs(read) runs a regular expression.
function path_index.find(index, path, accepts, runs)
  local found = literal(index, path, accepts)
  local patterns = index.patterns
  for i = 1, #patterns do
    local read = patterns[i]
    if found and read.order > found.order then
      break
    end
    if accepts(read) and runs(read) then
      return read
    end
  end
  return found
end

return path_index
