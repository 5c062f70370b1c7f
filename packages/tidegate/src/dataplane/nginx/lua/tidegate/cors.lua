-- Which other sites may use a route from a browser. Must agree with packages/tidegate/src/ingress/policy/cors.ts; tests compare
-- the two.
local find, lower, sub = string.find, string.lower, string.sub

local cors = {}

local function matches(pattern, origin)
  local before, after = pattern[1], pattern[2]
  if after == nil then
    return origin == before
  end
  local length = #origin - #before - #after
  return length > 0
    and sub(origin, 1, #before) == before
    and sub(origin, -#after) == after
    and find(sub(origin, #before + 1, #before + length), "^[a-z0-9-]+$") ~= nil
end

-- The value of Access-Control-Allow-Origin, or nil if the origin may not use the route.
local function allowed(origins, origin)
  if origins == nil then
    return "*"
  end
  local text = origin and lower(origin)
  for i = 1, text and #origins or 0 do
    if matches(origins[i], text) then
      return origin
    end
  end
end

-- The headers of the response to this origin, or nil.
function cors.headers(own, origin)
  local value = allowed(own.origins, origin)
  if value == nil then
    return nil
  end
  local headers = { ["Access-Control-Allow-Origin"] = value }
  for name, text in pairs(own.headers) do
    headers[name] = text
  end
  return headers
end

-- Adds Origin to the headers that the response depends on. Caches must know that.
function cors.vary(header)
  local before = header["Vary"]
  local text = type(before) == "table" and table.concat(before, ", ") or before or ""
  if text == "" then
    header["Vary"] = "Origin"
  elseif not ngx.re.find(text, [[(?:\A|,)[ \t]*(?:origin|\*)[ \t]*(?:,|\z)]], "ijo") then
    header["Vary"] = text .. ", Origin"
  end
end

return cors
