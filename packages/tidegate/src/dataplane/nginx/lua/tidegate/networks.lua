-- Sets of networks. Networks with the same length of their prefix are the keys of one table, so the number of networks does
-- not matter: an address is looked up once for each length.
local bit = require "bit"

local byte, char, sub = string.byte, string.char, string.sub
local band, lshift = bit.band, bit.lshift

local networks = {}

-- The first `bits` of an address; all other bits are zero and are left out.
local function prefix_of(address, bits)
  local whole = (bits - bits % 8) / 8
  local rest = bits % 8
  if rest == 0 then
    return sub(address, 1, whole)
  end
  return sub(address, 1, whole) .. char(band(byte(address, whole + 1), lshift(255, 8 - rest)))
end

-- nil if there are no networks. `list` is as in the route model.
function networks.prepare(list)
  if list[1] == nil then
    return nil
  end
  local families = { [4] = {}, [16] = {} }
  for _, network in ipairs(list) do
    local lengths = families[#network.octets]
    local found
    for i = 1, #lengths do
      found = lengths[i].bits == network.bits and lengths[i] or found
    end
    if found == nil then
      found = { bits = network.bits, prefixes = {} }
      lengths[#lengths + 1] = found
    end
    found.prefixes[prefix_of(char(unpack(network.octets)), network.bits)] = true
  end
  return families
end

local MAPPED = string.rep("\0", 10) .. "\255\255"

-- An address in binary form. An IPv4 address in the form of IPv6 becomes four bytes.
function networks.address(binary)
  if #binary == 16 and sub(binary, 1, 12) == MAPPED then
    return sub(binary, 13)
  end
  return binary
end

function networks.has(families, address)
  local lengths = families[#address]
  for i = 1, lengths and #lengths or 0 do
    if lengths[i].prefixes[prefix_of(address, lengths[i].bits)] then
      return true
    end
  end
  return false
end

return networks
