-- Reads cookies of the current request, and adds cookies to the response. Must agree with `cookieOf` in
-- packages/tidegate/src/ingress/policy/canary.ts.
local settings = require "tidegate.settings"

local var = ngx.var
local gmatch, match = string.gmatch, string.match

local cookies = {}

-- The value of the first cookie with this name, or an empty text.
function cookies.get(name)
  for part in gmatch(var.http_cookie or "", "[^;]+") do
    local key, value = match(part, "^%s*([^=]-)%s*=%s*(.-)%s*$")
    if key == name then
      return value
    end
  end
  return ""
end

-- Adds these to the cookies of the response. Endpoints may set cookies too.
function cookies.add(list)
  local before = ngx.header["Set-Cookie"]
  local all = type(before) == "table" and before or { before }
  for _, cookie in ipairs(list) do
    all[#all + 1] = cookie
  end
  ngx.header["Set-Cookie"] = all
end

-- Cookies of the server that has authenticated the client.
function cookies.add_of_auth(own)
  if own.always or settings.cookie_statuses[ngx.status] then
    cookies.add(own.list)
  end
end

return cookies
