-- A worker's cache of decoded entries of a shared dictionary. Each entry in the dictionary has a version, and one
-- generation counter covers all dictionaries. As long as the generation has not changed, a cached entry is valid and a
-- request costs one table lookup. After a change, the entry's version decides whether it must be decoded again.

-- A worker caches at least this many entries and at most twice as many. The dictionary itself has no such limit.
local MIN_CACHED = 32768

local entries = {}

-- decode(text, before, key) returns a table, which gets the fields `version` and `generation`; `before` is the previous
-- version if it is cached. Returns two functions: `get` looks an entry up, `recall` returns it only if the cache is valid.
function entries.new(dict, decode)
  -- Two generations of the cache, so that no usage times are needed: when `young` is full it becomes `old`, and the
  -- entries of `old` that were not used since are dropped.
  local young, old, count = {}, {}, 0

  local function remember(key, entry)
    if count >= MIN_CACHED then
      young, old, count = {}, young, 0
    end
    young[key] = entry
    count = count + 1
  end

  local function read(key, before, generation)
    local text, version = dict:get(key)
    if text == nil then
      young[key], old[key] = nil, nil
      return nil
    end
    local entry = before
    if before == nil or before.version ~= version then
      entry = decode(text, before, key)
      entry.version = version
      if before then
        young[key] = entry
      else
        remember(key, entry)
      end
    end
    entry.generation = generation
    return entry
  end

  local function recall(key, generation)
    local entry = young[key]
    if entry ~= nil and entry.generation == generation then
      return entry
    end
  end

  local function get(key, generation)
    local entry = young[key]
    if entry == nil then
      entry = old[key]
      if entry ~= nil then
        old[key] = nil
        remember(key, entry)
      end
    end
    if entry ~= nil and entry.generation == generation then
      return entry
    end
    return read(key, entry, generation)
  end

  return get, recall
end

return entries
