-- The ways in which servers read a path. Must agree with packages/tidegate/src/ingress/match/path-readings.ts; tests compare the
-- two.
local request = require "tidegate.request"

local find = ngx.re.find
local byte, sub, gsub, lower = string.byte, string.sub, string.gsub, string.lower

local path_readings = {}

-- The ways in which servers change a path. They do so in different orders, and some do it twice. For some servers, a
-- backslash ends path parameters.
local CHANGES = {
  request.decoded_once,
  function(path)
    return (gsub(path, ";[^/]*", ""))
  end,
  function(path)
    return (gsub(path, ";[^/\\]*", ""))
  end,
  function(path)
    return (gsub(path, "\\", "/"))
  end,
  -- A program that parses the target as a URL takes what follows two slashes for the name of a host.
  function(path)
    local rest = gsub(path, "^[/\\][/\\]+[^/\\]*", "")
    return rest == "" and "/" or rest
  end,
}
local MOST_READINGS = 24
local MOST_CHARACTERS = 65536

local function add(list, known, path)
  if known[path] then
    return 0
  end
  known[path] = true
  list[#list + 1] = path
  return #path
end

-- All paths that servers may read this one as, without empty segments. Returns nil if there are too many, or if one of them
-- has dot segments: then it is unknown which path a backend reads.
function path_readings.of(path)
  if not string.find(path, "[%%;\\]") and not string.find(path, "^//") then
    return { (gsub(path, "//+", "/")) }
  end
  local found, known = { path }, { [path] = true }
  local at, characters = 1, #path
  -- The loop also visits what it adds. Every change makes the path shorter or removes backslashes, so it ends.
  while at <= #found do
    for i = 1, #CHANGES do
      characters = characters + add(found, known, CHANGES[i](found[at]))
    end
    if #found > MOST_READINGS or characters > MOST_CHARACTERS then
      return nil
    end
    at = at + 1
  end
  local readings, seen = {}, {}
  for i = 1, #found do
    local reading = gsub(found[i], "//+", "/")
    if find(reading, request.DOT_SEGMENT, "ijo") then
      return nil
    end
    add(readings, seen, reading)
  end
  return readings
end

local DOT, DELETE = 46, 127

-- Where the part of a segment ends that all servers compare. In UTF-8, the two spaces beyond ASCII begin with 0xc2.
local function end_of_name(segment)
  local last = #segment
  while last > 0 do
    local code = byte(segment, last)
    if code == 0x85 or code == 0xa0 then
      if byte(segment, last - 1) == 0xc2 then
        last = last - 1
      end
    elseif code > 0x20 and code ~= DOT and code ~= DELETE then
      break
    end
    last = last - 1
  end
  return last
end

-- A reading as file systems and frameworks compare it that ignore case, or the end of a name. Returns nil if nothing is left of a
-- segment but dots: it may mean the directory above.
function path_readings.folded(path)
  local text = gsub(lower(path), ":+%$[^/]*", "")
  local is_unclear = false
  local folded = gsub(text, "[^/]+", function(segment)
    local last = end_of_name(segment)
    is_unclear = is_unclear or (last == 0 and byte(segment) == DOT)
    return sub(segment, 1, last)
  end)
  if is_unclear then
    return nil
  end
  return (gsub(folded, "//+", "/"))
end

return path_readings
