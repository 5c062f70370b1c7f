-- A request is over, however it went.
local endpoints = require "tidegate.endpoints"

return function()
  local ctx = ngx.ctx
  local name = ctx.endpoint
  if name == nil then
    return
  end
  endpoints.ended(name)
  local status = ngx.status
  if status >= 502 and status <= 504 then
    local last = string.match(ngx.var.upstream_status or "", "(%d+)%s*$")
    -- What the endpoint itself has answered has a header, and took a time to come.
    if (last == "502" or last == "504") and string.match(ngx.var.upstream_header_time or "", "%-%s*$") then
      endpoints.failed(name)
    end
  else
    endpoints.answered(name)
  end
end
