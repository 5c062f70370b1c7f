-- What the headers Connection and Upgrade of HTTP/1 ask for. Few requests have other values than the common ones.
local settings = require "tidegate.settings"

local lower, gmatch = string.lower, string.gmatch
local var = ngx.var

local OWN = { close = true, ["keep-alive"] = true, upgrade = true }
-- Without them the router and the endpoint would not agree on the request.
local REQUIRED = { host = true, ["content-length"] = true, ["transfer-encoding"] = true }

-- A client may send the header several times.
local function value_of(name)
  local value = ngx.req.get_headers(0)[name] or ""
  return lower(type(value) == "table" and table.concat(value, ",") or value)
end

local function has_body()
  return var.http_transfer_encoding ~= nil or (tonumber(var.content_length) or 0) > 0
end

-- Removes the headers that Connection lists: they are not for the endpoint (RFC 9110, section 7.6.1). Returns nil, or the
-- status to answer with.
return function()
  local named = value_of("connection")
  if #named > settings.max_connection_bytes then
    return 400
  end
  for name in gmatch(named, "[^,%s]+") do
    if REQUIRED[name] then
      return 400
    end
    if not OWN[name] then
      ngx.req.clear_header(name)
    end
  end
  -- After the switch to another protocol, the body could be read as a part of it.
  if value_of("upgrade") == "websocket" and has_body() then
    return 400
  end
  return nil
end
