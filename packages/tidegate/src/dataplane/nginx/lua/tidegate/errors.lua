-- Another backend for errors of endpoints, and in place of backends without endpoints. Must agree with
-- packages/tidegate/src/dataplane/embedded/handler.ts; tests compare the two.
local context = require "tidegate.context"
local tables = require "tidegate.tables"

local var = ngx.var
local errors = {}

local function of(ctx)
  local policy = ctx and ctx.route.policy
  return policy and policy.errors
end

-- Whether a response with this status is replaced.
function errors.replaces(ctx, status)
  local own = not ctx.is_error and of(ctx)
  for _, each in ipairs(own and own.statuses or {}) do
    if each == status then
      return true
    end
  end
  return false
end

-- Describes the error to the backend, as ingress-nginx does.
local function describe(own, status, upstream)
  local set = ngx.req.set_header
  set("X-Code", tostring(status))
  set("X-Format", var.http_accept or "")
  set("X-Original-URI", var.request_uri)
  set("X-Namespace", own.about.namespace)
  set("X-Ingress-Name", own.about.ingress)
  set("X-Service-Name", upstream and upstream.service or "")
  set("X-Service-Port", upstream and string.match(upstream.id, "^[^_]*_[^_]*_([^_]*)") or "")
end

local function backend_of(own)
  local upstream = tables.upstream(own.upstream, tables.generation())
  return upstream and upstream.endpoints[1] and upstream
end

-- The upstream that gets the current request in place of one without endpoints, or nil.
function errors.instead(route, upstream)
  local own = route.policy and route.policy.errors
  local other = own and backend_of(own)
  if not other then
    return nil
  end
  describe(own, 503, upstream or nil)
  local ctx = context.get()
  ctx.upstream, ctx.is_error = other, true
  return other
end

-- Continues the current request with a request for the error. Returns false if there is no backend for it.
function errors.send(status)
  local ctx = context.get()
  local own = of(ctx)
  local other = backend_of(own)
  if not other then
    return false
  end
  describe(own, status, ctx.upstream)
  ctx.upstream, ctx.is_error, ctx.endpoint, ctx.tried = other, true, false, false
  ctx.more_tries, ctx.final, ctx.hash = false, false, false
  ngx.req.clear_header "Content-Length"
  var.tidegate_protocol, var.tidegate_target, var.tidegate_prefix = "http", "/", ""
  var.tidegate_method = ngx.req.get_method() == "HEAD" and "HEAD" or "GET"
  return ngx.exec "@errors"
end

return errors
