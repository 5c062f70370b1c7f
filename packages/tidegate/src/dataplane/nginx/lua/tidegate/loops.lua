-- Ends requests that the router sends to itself. Must agree with packages/tidegate/src/dataplane/loops.ts, which says why.
local settings = require "tidegate.settings"

local find = string.find

local loops = {}

local function before()
  local value = ngx.req.get_headers(0)[settings.loop_header]
  return type(value) == "table" and table.concat(value, ", ") or value
end

-- Whether the router has sent the current request too often.
function loops.has_ended()
  local text, mark = before(), settings.loop_mark
  local count, _, at = 0, find(text or "", mark, 1, true)
  while at do
    count = count + 1
    _, at = find(text, mark, at + 1, true)
  end
  return count >= settings.max_loops
end

-- The line of a request that the router sends because of the current one.
function loops.line()
  local text = before()
  return settings.loop_header .. ": " .. (text and text .. ", " or "") .. settings.loop_mark
end

return loops
