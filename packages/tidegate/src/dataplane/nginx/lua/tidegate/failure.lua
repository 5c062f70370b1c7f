-- Handles an endpoint that did not answer: starts its back-off and counts the error.
local endpoints = require "tidegate.endpoints"
local metrics = require "tidegate.metrics"

local var = ngx.var
local failure = {}

-- nginx lists one value per attempt, separated by commas or colons. This is the value of the last attempt.
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

-- Whether nginx generated this status because the endpoint did not answer. An answer of an endpoint has
-- a header time.
function failure.is_ours()
  local status = last(var.upstream_status)
  return (status == "502" or status == "504") and last(var.upstream_header_time) == "-"
end

return failure
