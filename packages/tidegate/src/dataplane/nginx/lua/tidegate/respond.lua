-- Adds headers of policies to the response of an endpoint. They replace those of the endpoint.
local affinity = require "tidegate.affinity"
local context = require "tidegate.context"
local cookies = require "tidegate.cookies"
local cors = require "tidegate.cors"
local failure = require "tidegate.failure"
local responses = require "tidegate.responses"

return function()
  local ctx = context.get()
  if ctx and ctx.is_error and ctx.endpoint then
    -- nginx would keep the status of the error.
    ngx.status = failure.status()
  end
  if ctx and ctx.route.policy and ctx.route.policy.responses and ctx.endpoint then
    responses.apply(ctx.route.policy.responses)
  end
  if ctx and ctx.varies then
    cors.vary(ngx.header)
  end
  if ctx and ctx.cookies then
    cookies.add_of_auth(ctx.cookies)
  end
  local policy = ctx and ctx.route.policy
  if policy and policy.affinity and ctx.endpoint then
    local cookie = affinity.cookie(policy.affinity, ctx)
    if cookie then
      cookies.add { cookie }
    end
  end
  local added = ctx and ctx.added
  if added then
    local header = ngx.header
    for name, value in pairs(added) do
      header[name] = value
    end
  end
end
