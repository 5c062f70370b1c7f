-- Handles an endpoint that did not answer: starts its back-off and counts the error.
local endpoints = require "tidegate.endpoints"
local metrics = require "tidegate.metrics"

local var = ngx.var
local failure = {}

-- nginx lists one value per attempt, separated by commas or colons. This is the value of the last attempt. When the next
-- endpoint is chosen, the list ends with a separator: the next attempt has no value yet.
local function last(list)
  return string.match(list or "", "([^ ,:]+)[ ,:]*$")
end

-- How the last attempt failed.
function failure.kind()
  if last(var.upstream_status) == "504" then
    return "timeout"
  end
  return last(var.upstream_connect_time) == "-" and "connect" or "broken"
end

function failure.note(ctx)
  endpoints.failed(ctx.endpoint)
  metrics.failed(ctx.counts, failure.kind())
end

-- How long the last attempt took until the endpoint answered, in seconds, or nil.
function failure.seconds()
  local connect, head = last(var.upstream_connect_time), last(var.upstream_header_time)
  return tonumber(head) and tonumber(head) + (tonumber(connect) or 0)
end

-- The status of the last attempt.
function failure.status()
  return tonumber(last(var.upstream_status)) or 502
end

-- Whether nginx generated this status because the endpoint did not answer. An answer of an endpoint has
-- a header time.
function failure.is_ours()
  local status = last(var.upstream_status)
  return (status == "502" or status == "504") and last(var.upstream_header_time) == "-"
end

return failure
