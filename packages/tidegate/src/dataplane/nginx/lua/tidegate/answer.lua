-- Sends a response that does not come from an endpoint. Texts and headers are settings, so that they are the same as in
-- the embedded data plane.
local settings = require "tidegate.settings"

return function(status, location)
  local text = (settings.answer_texts[status] or "") .. "\n"
  -- The rest of the request body must not be read as the next request.
  ngx.req.discard_body()
  local header = ngx.header
  ngx.status = status
  for name, value in pairs(settings.answer_headers) do
    header[name] = value
  end
  header["Content-Length"] = #text
  header["Location"] = location
  ngx.print(text)
  return ngx.exit(ngx.OK)
end
