-- Sends a response that does not come from an endpoint. Texts and headers are settings, so that they are the same as in
-- the embedded data plane.
local context = require "tidegate.context"
local cookies = require "tidegate.cookies"
local cors = require "tidegate.cors"
local settings = require "tidegate.settings"

local var = ngx.var
local NONE = {}

-- Headers that policies of the route add.
local function add(header)
  local ctx = context.get()
  for name, value in pairs(ctx and ctx.added or NONE) do
    header[name] = value
  end
  if ctx and ctx.varies then
    cors.vary(header)
  end
  if ctx and ctx.cookies then
    cookies.add_of_auth(ctx.cookies)
  end
end

return function(status, location, more)
  local text = (settings.answer_texts[status] or "") .. "\n"
  local header = ngx.header
  if var.http_expect then
    -- The client may wait before it sends the body, or not. It is not asked for the body, and the connection ends: where the next
    -- request begins is in doubt.
    ngx.req.clear_header("Expect")
    header["Connection"] = "close"
  end
  -- The rest of the request body must not be read as the next request.
  ngx.req.discard_body()
  ngx.status = status
  if status == 204 then
    add(header)
    header["Server"] = settings.answer_headers["Server"]
    return ngx.exit(204)
  end
  add(header)
  for name, value in pairs(settings.answer_headers) do
    header[name] = value
  end
  header["Content-Length"] = #text
  header["Location"] = location
  for name, value in pairs(more or NONE) do
    header[name] = value
  end
  ngx.print(text)
  return ngx.exit(ngx.OK)
end
