-- Runs compiled regular expressions in linear time. Must agree with packages/tidegate/src/ingress/regex/run.ts, which
-- explains the algorithm; tests compare the two.
local byte, lower, sub, find = string.byte, string.lower, string.sub, string.find
local concat = table.concat

local MATCH, SET, JUMP, SPLIT, SAVE, START, END, BOUNDARY, NO_BOUNDARY = 0, 1, 2, 3, 4, 5, 6, 7, 8

local pattern = {}

-- How many steps the expressions of all routes may take for one request; see steps.ts.
pattern.MAX_STEPS = 300000

local UNLIMITED = { left = math.huge }

-- Prepares a pattern of the route model: for each set, a table of the bytes that it has.
function pattern.prepare(decoded)
  local members = {}
  for i, ranges in ipairs(decoded.sets) do
    local set = {}
    for at = 1, #ranges, 2 do
      for code = ranges[at], ranges[at + 1] do
        set[code] = true
      end
    end
    members[i] = set
  end
  local none = {}
  for slot = 1, decoded.groups * 2 do
    none[slot] = -1
  end
  return {
    code = decoded.code,
    members = members,
    anchored = decoded.anchored,
    prefix = decoded.prefix,
    none = none,
  }
end

local function is_word(text, at)
  return at >= 1 and at <= #text and find(text, "^[%w_]", at) ~= nil
end

local function is_boundary(text, at)
  return is_word(text, at) ~= is_word(text, at + 1)
end

local function noted(slots, slot, at)
  local copy = {}
  for i = 1, #slots do
    copy[i] = slots[i]
  end
  copy[slot + 1] = at
  return copy
end

local follow

-- Continues behind an assertion if it holds.
local function follow_if(holds, code, text, threads, address, at, slots)
  if holds then
    return follow(code, text, threads, address + 1, at, slots)
  end
end

-- Adds what the program reaches from an address without reading a byte.
function follow(code, text, threads, address, at, slots)
  local added = threads.added
  if added[address] == at then
    return
  end
  added[address] = at
  local steps = threads.steps
  steps.left = steps.left - 1
  local base = address * 3
  local op = code[base + 1]
  if op == SET or op == MATCH then
    local count = threads.count + 1
    threads.count = count
    threads.addresses[count] = address
    threads.slots[count] = slots
  elseif op == JUMP then
    return follow(code, text, threads, code[base + 2], at, slots)
  elseif op == SPLIT then
    follow(code, text, threads, code[base + 2], at, slots)
    return follow(code, text, threads, code[base + 3], at, slots)
  elseif op == SAVE then
    -- All slots are copied.
    steps.left = steps.left - #slots
    return follow(code, text, threads, address + 1, at, noted(slots, code[base + 2], at))
  elseif op == START then
    return follow_if(at == 0, code, text, threads, address, at, slots)
  elseif op == END then
    return follow_if(at == #text, code, text, threads, address, at, slots)
  elseif op == BOUNDARY then
    return follow_if(is_boundary(text, at), code, text, threads, address, at, slots)
  elseif op == NO_BOUNDARY then
    return follow_if(not is_boundary(text, at), code, text, threads, address, at, slots)
  end
end

local function new_threads(steps)
  return { added = {}, addresses = {}, slots = {}, count = 0, steps = steps }
end

-- Reads one byte. Returns the slots of a match at this position.
local function step(compiled, text, now, following, at)
  local code, members = compiled.code, compiled.members
  local current = byte(text, at + 1)
  for i = 1, now.count do
    local address, slots = now.addresses[i], now.slots[i]
    local base = address * 3
    if code[base + 1] == MATCH then
      -- All others are less preferred.
      return slots
    end
    if current and members[code[base + 2] + 1][current] then
      follow(code, text, following, address + 1, at + 1, slots)
    end
  end
end

-- Returns the slots of the match, or nil. `compiled` was prepared. If `steps.left` is negative afterwards, it gave up.
function pattern.run(compiled, text, steps)
  local prefix, anchored = compiled.prefix, compiled.anchored
  if prefix ~= "" and lower(sub(text, 1, #prefix)) ~= prefix then
    return nil
  end
  steps = steps or UNLIMITED
  if steps.left < 0 then
    return nil
  end
  -- The preparation is not free either.
  steps.left = steps.left - #compiled.code / 3
  local now, following, found = new_threads(steps), new_threads(steps), nil
  for at = 0, #text do
    if found == nil and (at == 0 or not anchored) then
      follow(compiled.code, text, now, 0, at, compiled.none)
    end
    if now.count == 0 and (anchored or found) then
      return found
    end
    if steps.left < 0 then
      return nil
    end
    found = step(compiled, text, now, following, at) or found
    now, following = following, now
    following.count = 0
  end
  return found
end

-- The text of a group; empty if it is not part of the match.
function pattern.group(slots, number, text)
  local from, to = slots[2 * number - 1], slots[2 * number]
  if from == nil or from < 0 or to < 0 then
    return ""
  end
  return sub(text, from + 1, to)
end

-- Fills a template of texts and numbers of groups. `encode` may be nil.
function pattern.fill(parts, slots, text, encode)
  local filled = {}
  for i, part in ipairs(parts) do
    if type(part) == "number" then
      local group = pattern.group(slots, part, text)
      filled[i] = encode and encode(group) or group
    else
      filled[i] = part
    end
  end
  return concat(filled)
end

return pattern
