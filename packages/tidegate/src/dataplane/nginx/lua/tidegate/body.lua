-- How much a client may send, and when its body has to be here before somebody is asked.
local answer = require "tidegate.answer"
local context = require "tidegate.context"
local settings = require "tidegate.settings"

local var = ngx.var

local body = {}

-- Bodies of these are kept if they are small: when one endpoint gives no answer, another can have them.
local SENT_AGAIN = { PUT = true, DELETE = true }
local SMALL = 65536

-- Whether a body may come whose length is not said. HTTP/2 does not tell by headers alone.
local function may_be_endless()
  if var.http_transfer_encoding then
    return true
  end
  local method = ngx.req.get_method()
  return method ~= "GET" and method ~= "HEAD" and var.http2 ~= ""
end

-- nginx counts for us, but only against numbers of its configuration: the next above the limit keeps the disk from
-- filling up, and the rest is seen when all is there.
local function measure(limit, protocol)
  for i, size in ipairs(settings.body_sizes) do
    if limit <= size then
      var.tidegate_protocol = protocol
      return ngx.exec("@measured" .. i)
    end
  end
end

function body.check(route, upstream)
  local length = tonumber(var.content_length)
  local limit = route.max_body_bytes
  if length == nil then
    if limit > 0 and may_be_endless() then
      measure(limit, upstream.protocol)
    end
  elseif limit > 0 and length > limit then
    return answer(413)
  elseif length > 0 and length <= SMALL and SENT_AGAIN[ngx.req.get_method()] then
    ngx.req.read_body()
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

function body.measured()
  ngx.req.read_body()
  if size_of_body() > context.get().route.max_body_bytes then
    return answer(413)
  end
end

return body
