-- A name for each request: 32 hexadecimal digits that come once. Not secret: a counter behind what only this worker has,
-- where nginx's own would ask the random generator each time.
local tohex = require "bit".tohex

local id = {}

local DIGITS = 24
local mine, count

function id.start()
  local file = assert(io.open("/dev/urandom", "rb"))
  local bytes = file:read(DIGITS / 2)
  file:close()
  mine = string.gsub(bytes, ".", function(byte)
    return string.format("%02x", string.byte(byte))
  end)
  count = 0
end

function id.next()
  count = count + 1
  return mine .. tohex(count)
end

return id
