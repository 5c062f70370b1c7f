-- What a request says of host and path, as tables spell it. Agrees with src/ingress/match/{host,path}.ts.
local ffi = require "ffi"
local C = ffi.C
ffi.cdef [[
  char *strpbrk(const char *text, const char *characters);
  char *strstr(const char *text, const char *part);
  size_t strlen(const char *text);
]]

local find = ngx.re.find
local lower, sub, byte = string.lower, string.sub, string.byte

local request = {}

local NAME = [[\A[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\z]]
local IPV6 = [[\A\[[0-9a-f:.]{2,45}\]\z]]
local PORT = [[:[0-9]{0,5}\z]]
local LONGEST = 253

local NOT_SENT = [=[[\x00-\x20#\x7f]|%(?:00|(?![0-9a-f]{2}))]=]
local DOT_SEGMENT = [[(?:/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|/|\\|%2f|%5c|\z)]]

-- One of these, or a dot behind a slash, is in all that either of them finds, and in hardly any path.
local SUSPICIOUS = "#%\\\127"
for code = 1, 32 do
  SUSPICIOUS = SUSPICIOUS .. string.char(code)
end

local DOT, BRACKET, SLASH, QUERY = 46, 91, 47, "?"

local function spell(said)
  local name = lower(said)
  local port = find(name, PORT, "jo")
  if port then
    name = sub(name, 1, port - 1)
  end
  if byte(name) == BRACKET then
    return find(name, IPV6, "jo") and name or false
  end
  if byte(name, -1) == DOT then
    name = sub(name, 1, -2)
  end
  return #name <= LONGEST and find(name, NAME, "jo") and name or false
end

-- The same few come again and again. Forgotten all at once when they are many: clients may invent as they like.
local REMEMBERED = 65536
local spelled, count = {}, 0

-- False: it is no host.
function request.host(said)
  if said == nil or said == "" then
    return ""
  end
  local name = spelled[said]
  if name == nil then
    if count >= REMEMBERED then
      spelled, count = {}, 0
    end
    name = spell(said)
    spelled[said] = name
    count = count + 1
  end
  return name
end

-- The wildcard that covers a host, or nil.
function request.wildcard(host)
  if byte(host) == BRACKET then
    return nil
  end
  local dot = string.find(host, ".", 1, true)
  return dot and "*" .. sub(host, dot) or nil
end

-- Nearly all paths are beyond doubt at this first look, which costs a tenth of the second.
local function is_suspicious(path)
  return C.strpbrk(path, SUSPICIOUS) ~= nil or C.strstr(path, "/.") ~= nil or C.strlen(path) ~= #path
end

-- The path of a request target as the client wrote it. Nil: the answer is 400.
function request.path(target)
  local query = string.find(target, QUERY, 1, true)
  local path = query and sub(target, 1, query - 1) or target
  if byte(path) ~= SLASH then
    return nil
  end
  if is_suspicious(path) and (find(path, NOT_SENT, "ijo") or find(path, DOT_SEGMENT, "ijo")) then
    return nil
  end
  return path
end

return request
