-- What a request says of host and path, as tables spell it. Agrees with src/ingress/match/{host,path}.ts.
local find = ngx.re.find
local lower, sub, byte = string.lower, string.sub, string.byte

local request = {}

local NAME = [[\A[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\z]]
local IPV6 = [[\A\[[0-9a-f:.]{2,45}\]\z]]
local PORT = [[:[0-9]{0,5}\z]]
local LONGEST = 253

local NOT_SENT = [=[[\x00-\x20#\x7f]|%(?:00|(?![0-9a-f]{2}))]=]
local DOT_SEGMENT = [[(?:/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|/|\\|%2f|%5c|\z)]]

-- What both of them need to match at all, and hardly any path has.
local SUSPICIOUS = [=[[\x00-\x20#%\x7f]|[/\\]\.]=]

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
local REMEMBERED = 16384
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

-- The path of a request target as the client wrote it. Nil: the answer is 400.
function request.path(target)
  local query = string.find(target, QUERY, 1, true)
  local path = query and sub(target, 1, query - 1) or target
  if byte(path) ~= SLASH then
    return nil
  end
  -- Nearly all paths are beyond doubt at the first look.
  if find(path, SUSPICIOUS, "jo") and (find(path, NOT_SENT, "ijo") or find(path, DOT_SEGMENT, "ijo")) then
    return nil
  end
  return path
end

return request
