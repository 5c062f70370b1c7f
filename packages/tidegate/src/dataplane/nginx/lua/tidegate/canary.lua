-- Decides which requests go to a canary. Must agree with packages/tidegate/src/ingress/policy/canary.ts; tests compare the two.
local cookies = require "tidegate.cookies"
local pattern = require "tidegate.pattern"

local canary = {}

local WORDS = { always = true, never = false }

-- Prepares a canary of the route model. `upstream` is its ID.
function canary.prepare(decoded, upstream)
  local header = decoded.header
  return {
    upstream = upstream,
    header = header and header.name,
    value = header and header.value,
    pattern = header and header.pattern and pattern.prepare(header.pattern),
    cookie = decoded.cookie,
    weight = decoded.weight,
    total = decoded.total,
  }
end

-- nil if the header decides nothing.
local function header_says(own, sent)
  if own.value then
    return sent == own.value or nil
  end
  if own.pattern then
    local steps = { left = pattern.MAX_STEPS }
    local found = pattern.run(own.pattern, sent, steps)
    return found and steps.left >= 0 or nil
  end
  return WORDS[sent]
end

-- Whether the current request goes to the canary.
function canary.is_chosen(own, header_of)
  local sent = own.header and header_of(own.header)
  local said = sent and header_says(own, sent)
  if said == nil and own.cookie then
    said = WORDS[cookies.get(own.cookie)]
  end
  if said == nil then
    return math.random() * own.total < own.weight
  end
  return said
end

return canary
