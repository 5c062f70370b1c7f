-- Runs at the end of each request, whatever its result: releases the endpoint, counts and logs.
local context = require "tidegate.context"
local endpoints = require "tidegate.endpoints"
local failure = require "tidegate.failure"
local limits = require "tidegate.limits"
local metrics = require "tidegate.metrics"
local settings = require "tidegate.settings"

local var, now, start_time = ngx.var, ngx.now, ngx.req.start_time

-- 499 is neither success nor failure: the client closed the connection before the endpoint could answer.
local function end_at_endpoint(ctx, status)
  local name = ctx.endpoint
  if ctx.upstream.counted then
    endpoints.ended(name)
  end
  if ctx.upstream.timed then
    local took = failure.seconds()
    if took then
      endpoints.took(name, took)
    end
  end
  if (status == 502 or status == 504) and failure.is_ours() then
    failure.note(ctx)
  elseif status ~= 499 then
    endpoints.answered(name)
  end
end

local function name_for_log(ctx)
  var.tidegate_ingress = ctx.host.ingresses[ctx.route.number]
  var.tidegate_service = ctx.upstream and ctx.upstream.label or ""
end

return function()
  local status, seconds = ngx.status, now() - start_time()
  local ctx = context.finish()
  if ctx == nil then
    return metrics.ended(metrics.counts_of(), status, seconds)
  end
  if ctx.endpoint then
    end_at_endpoint(ctx, status)
  end
  if ctx.limited then
    limits.ended(ctx.limited)
  end
  metrics.ended(ctx.counts, status, seconds)
  if settings.access_log then
    name_for_log(ctx)
  end
  context.give_back(ctx)
end
