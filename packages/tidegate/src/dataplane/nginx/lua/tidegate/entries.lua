-- What one worker has read of a shared dictionary, decoded. Each value is there with a version; one generation counter
-- for everything tells whether versions have to be looked at again, so that a request without news costs one lookup.

-- Workers remember at least so many, and at most twice as many. There is no limit to what is in the dictionary.
local REMEMBERED = 32768

local entries = {}

-- decode(text, before, key) makes a table, in which version and generation are noted; `before` is the one of the former
-- version, if it is remembered. Returns the way to look up, and to see what is remembered without looking up.
function entries.new(dict, decode)
  local young, old, count = {}, {}, 0

  local function remember(key, entry)
    if count >= REMEMBERED then
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
