-- Asks a server about each request. Must agree with packages/tidegate/src/dataplane/embedded/external-auth.ts; tests compare the
-- two.
local ask_server = require "tidegate.ask_server"
local cjson = require "cjson"
local client_headers = require "tidegate.client_headers"
local context = require "tidegate.context"
local endpoints = require "tidegate.endpoints"
local hashing = require "tidegate.hashing"
local loops = require "tidegate.loops"
local match = require "tidegate.match"
local policy = require "tidegate.policy"
local request = require "tidegate.request"
local settings = require "tidegate.settings"
local tables = require "tidegate.tables"

local var, cache = ngx.var, ngx.shared.tidegate_auth
local find, lower, concat = string.find, string.lower, table.concat

local external = {}

-- Clients cannot set them.
local OWN = { ["x-auth-request-redirect"] = true, ["x-sent-from"] = true }

local BODILESS = { POST = true, PUT = true, PATCH = true }

-- The names of headers that the server does not get from the client.
local function left_out(headers)
  if not headers then
    return OWN
  end
  local names = {}
  for name in pairs(OWN) do
    names[name] = true
  end
  for name in pairs(headers) do
    names[lower(name)] = true
  end
  return names
end

-- The request to the server, with the headers with which ingress-nginx describes the request of the client.
local function text_of(own, target, host, facts, headers)
  local method = own.method or "GET"
  local lines = { method .. " " .. target .. " HTTP/1.1", "Host: " .. host }
  client_headers(lines, left_out(headers))
  lines[#lines + 1] = loops.line()
  local function add(name, value)
    lines[#lines + 1] = name .. ": " .. value
  end
  if own.method then
    add("X-Original-URI", facts.target)
    add("X-Scheme", var.tidegate_scheme)
  end
  add("X-Original-URL", var.tidegate_scheme .. "://" .. facts.authority .. facts.target)
  add("X-Original-Method", ngx.req.get_method())
  add("X-Sent-From", "nginx-ingress-controller")
  add("X-Real-IP", var.tidegate_client)
  add("X-Forwarded-For", var.tidegate_client)
  add("X-Auth-Request-Redirect", own.redirect and policy.fill(own.redirect, facts) or facts.target)
  add("X-Request-Id", var.tidegate_request_id)
  for name, value in pairs(headers or {}) do
    add(name, value)
  end
  if BODILESS[method] then
    add("Content-Length", "0")
  end
  add("Connection", own.keepalive and "keep-alive" or "close")
  return concat(lines, "\r\n") .. "\r\n\r\n"
end

-- The upstream to ask, the target and the host; nil if there is none: nothing is served then.
local function server_of(own, facts, lookup)
  local target = policy.fill(own.target, facts)
  local generation = tables.generation()
  if own.upstream then
    return tables.upstream(own.upstream, generation), target, own.host
  end
  local path = request.path(target)
  if not path then
    return nil
  end
  local route, _, _, matched = match.match(facts.name, path, own.secure, lookup.header_of, lookup.host_of, generation)
  local id = route and (route.upstream or route.backends and route.backends[1].upstream)
  local upstream = id and tables.upstream(id, generation)
  if not upstream or upstream.protocol == "grpc" then
    return nil
  end
  -- Of the policies of that route, only its rewrite applies.
  local theirs = route.policy or {}
  local asked = { policy = { rewrite = theirs.rewrite }, pattern = route.pattern }
  local status, _, changed = policy.decide(asked, {
    secure = facts.secure,
    name = facts.name,
    authority = facts.authority,
    target = target,
    path = matched,
  })
  if status then
    return nil
  end
  return upstream, changed or target, theirs.vhost or facts.authority
end

local function server_name(own, upstream)
  if upstream.protocol ~= "https" then
    return nil
  end
  if not own.upstream then
    return upstream.service .. "." .. upstream.namespace .. ".svc"
  end
  local is_address = find(upstream.service, ":", 1, true) or find(upstream.service, "^[%d.]+$")
  return is_address and "" or upstream.service
end

local function ask(own, facts, lookup, headers)
  local upstream, target, host = server_of(own, facts, lookup)
  if not upstream or upstream.endpoints[1] == nil then
    return nil
  end
  local timeouts = context.get().route.timeouts
  local question = {
    method = own.method or "GET",
    text = text_of(own, target, host, facts, headers),
    servername = server_name(own, upstream),
    owner = upstream.id,
    connect_ms = timeouts and timeouts.connect * 1000 or settings.connect_timeout_ms,
    read_ms = timeouts and timeouts.read * 1000 or settings.read_timeout_ms,
    keepalive = own.keepalive,
  }
  local tried = {}
  for i = 1, math.min(settings.max_tries, #upstream.endpoints) do
    local endpoint = endpoints.pick(upstream, tried[1] and tried)
    if endpoint == nil then
      return nil
    end
    tried[i] = endpoint.name
    local answer, why = ask_server(question, endpoint)
    if answer then
      return answer
    end
    ngx.log(ngx.WARN, "the server ", endpoint.name, ", which authenticates clients, did not answer: ", why)
  end
end

-- For how many seconds an answer is kept; 0: not at all. The same as `keptSeconds` in auth-cache.ts.
local function kept_seconds(own, answer)
  local headers = answer.headers
  if headers["set-cookie"] or headers.expires or headers.vary then
    return 0
  end
  local control = lower(concat(headers["cache-control"] or {}, ", "))
  if find(control, "no-cache", 1, true) or find(control, "no-store", 1, true) or find(control, "private", 1, true) then
    return 0
  end
  local age = string.match(control, "max%-age=(%d+)")
  if age then
    return math.min(tonumber(string.sub(age, 1, 7)), settings.max_kept_auth_seconds)
  end
  local seconds = own.cache.seconds
  return seconds[tostring(answer.status)] or seconds.any or 0
end

-- Equal for requests that get the same answer: of the same path of the same Ingress and host, with the same key.
local function key_of(own, facts, lookup)
  local ctx = context.get()
  local parts = hashing.parts(own.cache.key, { name = facts.name, target = facts.target, header_of = lookup.header_of })
  local about = { ctx.route.policy.zone, ctx.host.host, ctx.route.path or "", own.upstream or "", own.host, own.method or "" }
  about[#about + 1] = policy.fill(own.target, facts)
  -- No header and no part of a request has this character.
  return ngx.sha1_bin(concat(about, "\0") .. "\0" .. concat(parts, "\0"))
end

local function remember(own, key, answer)
  local seconds = kept_seconds(own, answer)
  if seconds == 0 then
    return
  end
  local kept = { ["www-authenticate"] = answer.headers["www-authenticate"] }
  for _, name in ipairs(own.responseHeaders) do
    kept[lower(name)] = answer.headers[lower(name)]
  end
  cache:set(key, cjson.encode { status = answer.status, headers = kept }, seconds)
end

local function answer_for(own, facts, lookup, headers)
  if not own.cache then
    return ask(own, facts, lookup, headers)
  end
  local key = key_of(own, facts, lookup)
  local known = cache:get(key)
  if known then
    return cjson.decode(known)
  end
  local answer = ask(own, facts, lookup, headers)
  if answer then
    remember(own, key, answer)
  end
  return answer
end

-- The endpoint gets these headers from the server only.
local function set_headers(own, headers)
  for _, name in ipairs(own.responseHeaders) do
    local values = headers[lower(name)]
    local text = values and concat(values, ", ") or ""
    if text == "" then
      ngx.req.clear_header(name)
    else
      ngx.req.set_header(name, text)
    end
  end
end

-- `facts` are those of policy.lua, `lookup` has header_of and host_of. Returns nil if the client is served, or the status to answer
-- with, the location of a redirect, and headers.
function external.check(own, facts, lookup)
  if loops.has_ended() then
    ngx.log(ngx.WARN, "the server that authenticates clients of ", facts.name, " leads back to this router")
    return 508
  end
  local known = own.headers and tables.credentials(own.headers, tables.generation())
  if own.headers and not known then
    -- The ConfigMap does not exist, or is not valid.
    return 503
  end
  local answer = answer_for(own, facts, lookup, known and known.headers)
  if not answer then
    return 500
  end
  local cookies = answer.headers["set-cookie"]
  if cookies then
    context.get().cookies = { list = cookies, always = own.alwaysSetsCookie }
  end
  local status = answer.status
  if status >= 200 and status < 300 then
    set_headers(own, answer.headers)
    return nil
  end
  if status == 401 and own.signin then
    return 302, policy.fill(own.signin, facts)
  end
  if status == 401 then
    return 401, nil, { ["WWW-Authenticate"] = answer.headers["www-authenticate"] }
  end
  return status == 403 and 403 or 500
end

return external
