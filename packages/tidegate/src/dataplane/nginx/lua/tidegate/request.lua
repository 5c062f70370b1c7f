-- Reads host and path of a request. Must agree with packages/tidegate/src/ingress/match/host.ts and path.ts; tests compare
-- them.
local ffi = require "ffi"
local C = ffi.C
ffi.cdef [[
  char *strpbrk(const char *text, const char *characters);
  char *strstr(const char *text, const char *part);
  size_t strspn(const char *text, const char *characters);
]]

local find = ngx.re.find
local lower, sub, byte, char, gsub = string.lower, string.sub, string.byte, string.char, string.gsub

local request = {}

local NAME = [[\A[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\z]]
local IPV6 = [[\A\[[0-9a-f:.]{2,45}\]\z]]
local PORT = [[:[0-9]{0,5}\z]]
local MAX_LENGTH = 253

local NOT_SENT = [[%(?:00|(?![0-9a-f]{2}))]]
request.DOT_SEGMENT = [[(?:/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|/|\\|%2f|%5c|\z)]]

-- Everything that NOT_SENT or DOT_SEGMENT finds contains one of these characters or "/.". Few paths do.
local SUSPICIOUS = "%\\"

-- Clients percent-encode other characters, and do not send the fragment.
local VISIBLE = ""
for code = 33, 126 do
  VISIBLE = VISIBLE .. (code == 35 and "" or string.char(code))
end

local DOT, BRACKET, SLASH, QUERY = 46, 91, 47, "?"

local function normalize(header)
  local name = lower(header)
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
  return #name <= MAX_LENGTH and find(name, NAME, "jo") and name or false
end

-- Hosts repeat. Clients can send any number of different ones, so the cache is emptied when it is full.
local MAX_CACHED = 65536
local normalized, count = {}, 0

-- Returns the normalized host, or false if it is not valid.
function request.host(header)
  if header == nil or header == "" then
    return ""
  end
  local name = normalized[header]
  if name == nil then
    if count >= MAX_CACHED then
      normalized, count = {}, 0
    end
    name = normalize(header)
    normalized[header] = name
    count = count + 1
  end
  return name
end

-- Returns the wildcard that covers a host, or nil.
function request.wildcard(host)
  if byte(host) == BRACKET then
    return nil
  end
  local dot = string.find(host, ".", 1, true)
  return dot and "*" .. sub(host, dot) or nil
end

-- A quick check that accepts nearly all paths, at a tenth of the cost of the regular expressions.
local function is_suspicious(path)
  return C.strpbrk(path, SUSPICIOUS) ~= nil or C.strstr(path, "/.") ~= nil
end

-- Returns the path of a request target exactly as the client sent it, or nil: the response is 400.
function request.path(target)
  if C.strspn(target, VISIBLE) ~= #target then
    return nil
  end
  local query = string.find(target, QUERY, 1, true)
  local path = query and sub(target, 1, query - 1) or target
  if byte(path) ~= SLASH then
    return nil
  end
  if is_suspicious(path) and (find(path, NOT_SENT, "ijo") or find(path, request.DOT_SEGMENT, "ijo")) then
    return nil
  end
  return path
end

local function byte_of(hex)
  return char(tonumber(hex, 16))
end

-- Decodes a path, and keeps empty segments.
function request.decoded_once(path)
  return (gsub(path, "%%(%x%x)", byte_of))
end

-- The path as most servers read it: decoded, and without empty segments.
function request.decoded(path)
  if not string.find(path, "%", 1, true) and not string.find(path, "//", 1, true) then
    return path
  end
  return (gsub(request.decoded_once(path), "//+", "/"))
end

local function percent(text)
  return string.format("%%%02X", byte(text))
end

-- Encodes bytes of a decoded path that are not allowed in a path, or that mean something else there.
function request.encoded(decoded)
  return (gsub(decoded, "[^A-Za-z0-9%-._~!$&'()*+,;=:@/]", percent))
end

return request
