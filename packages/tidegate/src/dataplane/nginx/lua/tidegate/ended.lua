-- Runs at the end of each request, whatever its result: releases the endpoint, counts and logs.
local context = require "tidegate.context"
local endpoints = require "tidegate.endpoints"
local failure = require "tidegate.failure"
local limits = require "tidegate.limits"
local metrics = require "tidegate.metrics"
local sections = require "tidegate.sections"
local settings = require "tidegate.settings"
local tables = require "tidegate.tables"

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
  if ctx.endpoint and ctx.upstream.relayed then
    local names = ctx.tried or {}
    names[#names + 1] = ctx.endpoint
    var.tidegate_relayed = table.concat(names, ", ")
  end
end

-- `port` is that of a section. Without it, the table is that of one router.
local function name_section(port, generation)
  local facts = sections.facts(port, generation)
  if facts then
    var.tidegate_class, var.tidegate_router = facts.className, facts.router
  end
end

return function(port)
  local status, seconds = ngx.status, now() - start_time()
  local ctx = context.finish()
  if port and settings.access_log then
    name_section(port, tables.generation())
  end
  if ctx == nil then
    local section = port and sections.text(port, tables.generation())
    return metrics.ended(metrics.counts_of(nil, nil, section), status, seconds)
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
