-- What one worker has read of a shared dictionary, decoded. Each value is there with a version; one generation counter
-- for everything tells whether versions have to be looked at again, so that a request without news costs one lookup.

-- Workers remember at least so many, and at most twice as many. There is no limit to what is in the dictionary.
local REMEMBERED = 32768

local entries = {}

-- decode(text, before, key): `before` is what the former version was decoded to, if it is remembered.
function entries.new(dict, decode)
  local young, old, count = {}, {}, 0

  local function remember(key, entry)
    if count >= REMEMBERED then
      young, old, count = {}, young, 0
    end
    young[key] = entry
    count = count + 1
    return entry
  end

  local function read(key, entry, generation)
    local text, version = dict:get(key)
    if text == nil then
      young[key], old[key] = nil, nil
      return nil
    end
    if entry == nil then
      entry = remember(key, {})
    elseif entry.version == version then
      entry.generation = generation
      return entry.value
    end
    entry.value = decode(text, entry.value, key)
    entry.version, entry.generation = version, generation
    return entry.value
  end

  return function(key, generation)
    local entry = young[key]
    if entry == nil then
      entry = old[key]
      if entry ~= nil then
        old[key] = nil
        remember(key, entry)
      end
    end
    if entry ~= nil and entry.generation == generation then
      return entry.value
    end
    return read(key, entry, generation)
  end
end

return entries
