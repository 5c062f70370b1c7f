-- Limits the size of request bodies, and decides which bodies are read before an endpoint is contacted.
local answer = require "tidegate.answer"
local context = require "tidegate.context"
local settings = require "tidegate.settings"

local var = ngx.var

local body = {}

-- Small bodies of these methods are read first: if an endpoint does not answer, another one can get the same body.
local SENT_AGAIN = { PUT = true, DELETE = true }
local SMALL = settings.max_kept_body_bytes

-- Whether a body of unknown length may follow. The headers of HTTP/2 do not say whether there is a body.
local function may_be_endless()
  if var.http_transfer_encoding then
    return true
  end
  local method = ngx.req.get_method()
  return method ~= "GET" and method ~= "HEAD" and var.http2 ~= ""
end

-- nginx counts bytes only against limits in its configuration. A body of unknown length is read completely in the location
-- with the next larger limit, which protects the disk, and is compared with the exact limit afterwards. Above the largest one, that
-- one applies.
local function measure(limit, protocol)
  local sizes = settings.body_sizes
  local number = #sizes
  for i = #sizes, 1, -1 do
    number = limit <= sizes[i] and i or number
  end
  var.tidegate_protocol = protocol
  return ngx.exec("@measured" .. number)
end

-- Rejects a body that is too large, or continues the request in the location for its protocol or size. `changed`: the
-- backend gets another request than the client has sent.
function body.check(route, upstream, changed)
  local length = tonumber(var.content_length)
  local limit = route.max_body_bytes
  if length == nil then
    if limit > 0 and may_be_endless() then
      measure(limit, upstream.protocol)
    end
  elseif limit > 0 and length > limit then
    return answer(413)
  elseif
    length > 0
    and length <= SMALL
    and (SENT_AGAIN[ngx.req.get_method()] or route.retry and route.retry.anyMethod)
  then
    ngx.req.read_body()
  end
  if route.location then
    var.tidegate_protocol = upstream.protocol
    return ngx.exec(route.location)
  end
  if changed then
    var.tidegate_protocol = upstream.protocol
    return ngx.exec("@changed")
  end
  if upstream.protocol == "https" then
    return ngx.exec("@https")
  end
end

local function size_of_body()
  local data = ngx.req.get_body_data()
  if data then
    return #data
  end
  local path = ngx.req.get_body_file()
  if path == nil then
    return 0
  end
  local file = assert(io.open(path, "rb"))
  local size = file:seek("end")
  file:close()
  return size
end

-- Runs in the locations @measured: reads the body, and compares its size with the limit of the route.
function body.measured()
  ngx.req.read_body()
  local route = context.get().route
  if size_of_body() > route.max_body_bytes then
    return answer(413)
  end
  if route.location then
    return ngx.exec(route.location)
  end
end

return body
