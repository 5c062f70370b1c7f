-- Applies the policies of a route to the current request, as policy.lua decides.
local answer = require "tidegate.answer"
local authenticate = require "tidegate.authenticate"
local context = require "tidegate.context"
local client_certificate = require "tidegate.client_certificate"
local clients = require "tidegate.clients"
local clear_proxy_headers = require "tidegate.proxy_headers"
local cors = require "tidegate.cors"
local external_auth = require "tidegate.external_auth"
local hashing = require "tidegate.hashing"
local mirror = require "tidegate.mirror"
local limits = require "tidegate.limits"
local policy = require "tidegate.policy"
local tables = require "tidegate.tables"

local var, lower = ngx.var, string.lower

local function is_repeated(name)
  return type(ngx.req.get_headers(0)[name]) == "table"
end

-- Headers for browsers of other sites win.
local function with_headers(added, headers)
  local result, names = {}, {}
  for name, value in pairs(added or {}) do
    result[name] = value
    names[lower(name)] = true
  end
  for name, value in pairs(headers) do
    if not names[lower(name)] then
      result[name] = value
    end
  end
  return result
end

-- Returns nil if the client is served, or the status to answer with, the location of a redirect, and headers. With satisfy_any, one
-- way to authenticate suffices.
local function denial_of(own, facts, lookup)
  local status, headers
  if own.basic then
    status, headers = authenticate.basic(own.basic)
    local is_decided
    if status == nil then
      is_decided = own.satisfy_any
    else
      is_decided = not own.satisfy_any or status >= 500
    end
    if is_decided or not own.external_auth then
      return status, nil, headers
    end
  end
  local second, location, more = external_auth.check(own.external_auth, facts, lookup)
  -- As in nginx, 401 wins over 403: the client can still authenticate.
  if second == 403 and status == 401 then
    return status, nil, headers
  end
  return second, location, more
end

-- Applies the policies to the current request. Returns true if they have answered it; otherwise whether the backend gets
-- another request than the client has sent.
-- `facts`: encrypted (over TLS here), secure (the client has used HTTPS), name, secure_authority, target, path that was compared.
return function(route, facts, header_of, host_of)
  local own, name, target = route.policy, facts.name, facts.target
  facts.authority = var.http_host or ""
  if own.unlogged then
    var.tidegate_unlogged = "1"
  end
  -- Over plain HTTP, no client has a certificate: a redirect applies first.
  if own.client_certificate and (facts.encrypted or not (own.redirect or own.secure)) then
    clear_proxy_headers()
    local refusal = client_certificate.check(own.client_certificate, facts.encrypted, name, host_of)
    if refusal then
      answer(refusal, refusal == 302 and policy.fill(own.client_certificate.errorPage, facts) or nil)
      return true
    end
  end
  local headers = own.custom_headers and tables.credentials(own.custom_headers.credentials, tables.generation())
  if own.custom_headers and not headers then
    -- The ConfigMap does not exist, or is not valid.
    answer(503)
    return true
  end
  -- Router and endpoint could use different ones.
  if (own.basic or own.external_auth) and is_repeated("authorization") or own.cors and is_repeated("origin") then
    answer(400)
    return true
  end
  local added = own.cors and cors.headers(own.cors, var.http_origin)
  local ctx = context.get()
  ctx.added = headers and with_headers(added, headers.headers) or added or false
  local varies = own.cors ~= nil and own.cors.origins ~= nil
  ctx.varies = varies
  facts.method, facts.cors, facts.client = ngx.req.get_method(), added, clients.binary()
  local status, location, changed, prefix, authenticates = policy.decide(route, facts)
  if status then
    answer(status, location)
    return true
  end
  if own.limit then
    local is_within, counted = limits.begin(own.limit, own.zone, facts.client)
    if not is_within then
      answer(503)
      return true
    end
    ctx.limited = counted or false
  end
  if own.throttle then
    var.limit_rate = own.throttle.bytesPerSecond
    var.tidegate_rate_after = own.throttle.after
  end
  if (own.external_auth or own.mirror) and not own.client_certificate then
    -- Neither the server nor the endpoint gets them, also with gRPC. The answer of the server may set some.
    clear_proxy_headers()
  end
  if authenticates then
    local denial, where, headers = denial_of(own, facts, { header_of = header_of, host_of = host_of })
    if denial then
      answer(denial, where, headers)
      return true
    end
  end
  if own.basic then
    -- As with ingress-nginx, the endpoint does not get the password.
    ngx.req.clear_header("Authorization")
  end
  if changed then
    var.tidegate_target = changed
    var.tidegate_prefix = prefix or ""
  end
  if own.mirror and ctx.upstream and ctx.upstream.protocol ~= "grpc" and ctx.upstream.endpoints[1] then
    mirror.send(own.mirror, facts, route.max_body_bytes)
  end
  if own.hash_by then
    ctx.hash = hashing.of(own.hash_by, { name = name, target = target, header_of = header_of })
  end
  if own.vhost then
    var.tidegate_vhost = own.vhost
  end
  return false, changed or ctx.added ~= false or varies or own.vhost ~= nil or own.affinity ~= nil or own.responses ~= nil or (ctx.cookies and true)
end
