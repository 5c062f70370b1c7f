-- An endpoint gave no answer: it is left out for a while, and counted.
local endpoints = require "tidegate.endpoints"
local metrics = require "tidegate.metrics"

local var = ngx.var
local failure = {}

-- nginx keeps a list of what each endpoint said; this is of the last.
local function last(list)
  return string.match(list or "", "([^ ,:]+)%s*$")
end

local function kind()
  if last(var.upstream_status) == "504" then
    return "timeout"
  end
  return last(var.upstream_connect_time) == "-" and "connect" or "broken"
end

function failure.note(ctx)
  endpoints.failed(ctx.endpoint)
  metrics.failed(ctx.counts, kind())
end

-- Whether the endpoint itself has said this, or nginx for want of an answer. Answers have a header that took a time.
function failure.is_ours()
  local status = last(var.upstream_status)
  return (status == "502" or status == "504") and last(var.upstream_header_time) == "-"
end

return failure
