-- Decides what the policies of a route make of a request. Must agree with packages/tidegate/src/ingress/match/decide.ts; tests compare the two.
local networks = require "tidegate.networks"
local pattern = require "tidegate.pattern"
local request = require "tidegate.request"

local byte, find, sub, concat = string.byte, string.find, string.sub, table.concat
local SLASH = 47

local policy = {}

local function text_of(list)
  local texts = {}
  for i, network in ipairs(list) do
    texts[i] = concat(network.octets, ".") .. "/" .. network.bits
  end
  return concat(texts, ",")
end

local function prepare_sources(sources)
  return {
    allow = networks.prepare(sources.allow),
    deny = networks.prepare(sources.deny),
  }
end

local function text_of_limit(limit)
  local rates = {}
  for i, rate in ipairs(limit.requests) do
    rates[i] = rate.perSecond .. "+" .. rate.burst
  end
  return concat(rates, ",") .. " " .. (limit.connections or "") .. " " .. text_of(limit.exempt)
end

local function prepare_limit(limit)
  return {
    requests = limit.requests,
    connections = limit.connections,
    exempt = networks.prepare(limit.exempt),
  }
end

-- A text that is equal for equal values.
local function canonical(value)
  if type(value) ~= "table" then
    return string.format("%q", tostring(value))
  end
  local keys, parts = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for i, key in ipairs(keys) do
    parts[i] = tostring(key) .. "=" .. canonical(value[key])
  end
  return "{" .. concat(parts, ",") .. "}"
end

-- A text that is equal for policies that limit requests in the same way, or nil if they do not limit them.
local function guards_of(decoded)
  local sources, basic, limit, external = decoded.sources, decoded.basic, decoded.limit, decoded.externalAuth
  local certificate = decoded.clientCertificate
  if sources == nil and basic == nil and limit == nil and external == nil and certificate == nil then
    return nil
  end
  return concat({
    sources and text_of(sources.allow) .. ";" .. text_of(sources.deny) or "",
    basic and basic.credentials .. " " .. basic.realm or "",
    external and canonical(external) or "",
    certificate and canonical(certificate) or "",
    decoded.satisfyAny and "any" or "all",
    limit and text_of_limit(limit) or "",
  }, "\n")
end

local function prepare_certificate(decoded)
  local prepared = {}
  for name, value in pairs(decoded) do
    prepared[name] = value
  end
  prepared.subject = decoded.subject and pattern.prepare(decoded.subject)
  return prepared
end

-- Prepares the policies of the route model.
function policy.prepare(decoded)
  return {
    redirect = decoded.redirect,
    secure = decoded.secure,
    sources = decoded.sources and prepare_sources(decoded.sources),
    basic = decoded.basic,
    external_auth = decoded.externalAuth,
    client_certificate = decoded.clientCertificate and prepare_certificate(decoded.clientCertificate),
    satisfy_any = decoded.satisfyAny,
    cors = decoded.cors,
    custom_headers = decoded.customHeaders,
    vhost = decoded.vhost,
    affinity = decoded.affinity,
    hash_by = decoded.hashBy,
    limit = decoded.limit and prepare_limit(decoded.limit),
    zone = decoded.zone,
    throttle = decoded.throttle,
    unlogged = decoded.unlogged,
    mirror = decoded.mirror,
    errors = decoded.errors,
    guards = guards_of(decoded),
  }
end

-- A prepared policy of several routes, with the rewrite of one of them.
function policy.with_rewrite(prepared, rewrite)
  local result = { rewrite = rewrite }
  for name, value in pairs(prepared) do
    result[name] = value
  end
  return result
end

-- Splits path and query. The query is nil if there is no question mark.
local function split(target)
  local at = find(target, "?", 1, true)
  if at then
    return sub(target, 1, at - 1), sub(target, at + 1)
  end
  return target
end

local function percent(character)
  return string.format("%%%02X", byte(character))
end

local VALUES = {
  scheme = function(facts)
    return facts.secure and "https" or "http"
  end,
  host = function(facts)
    return facts.name
  end,
  http_host = function(facts)
    return facts.authority
  end,
  request_uri = function(facts)
    return facts.target
  end,
  escaped_request_uri = function(facts)
    return (string.gsub(facts.target, "[^A-Za-z0-9%-._~]", percent))
  end,
  uri = function(facts)
    return (split(facts.target))
  end,
  args = function(facts)
    local _, query = split(facts.target)
    return query or ""
  end,
  is_args = function(facts)
    local _, query = split(facts.target)
    return query and query ~= "" and "?" or ""
  end,
}

-- Fills the template of a URL; see url-template.ts.
function policy.fill(template, facts)
  local parts = {}
  for i, part in ipairs(template) do
    parts[i] = type(part) == "table" and VALUES[part.variable](facts) or part
  end
  return concat(parts)
end

local function is_allowed(sources, binary)
  local address = networks.address(binary)
  if sources.deny and networks.has(sources.deny, address) then
    return false
  end
  return sources.allow == nil or networks.has(sources.allow, address)
end

local function with_query(path, query)
  if sub(path, -1) == "?" then
    return sub(path, 1, -2)
  end
  if query == nil or query == "" then
    return path
  end
  return path .. (find(path, "?", 1, true) and "&" or "?") .. query
end

-- Whether the path of a target has an encoded control character.
local function has_control(target)
  local path = split(target)
  return find(path, "%%[01]%x") or find(path, "%%7[fF]")
end

local function rewritten(rewrite, compiled, facts)
  local path, query = split(facts.target)
  local matched = facts.path
  local slots = pattern.run(compiled, matched) or {}
  local encode = path ~= matched and request.encoded or nil
  local filled = pattern.fill(rewrite.target, slots, matched, encode)
  if byte(filled) ~= SLASH then
    filled = "/" .. filled
  end
  local prefix = rewrite.prefix and pattern.fill(rewrite.prefix, slots, matched, encode)
  return with_query(filled, query), prefix
end

-- Whether the address of the client suffices, must be followed by authentication, or is refused.
local function access_of(own, client)
  local is_listed = own.sources == nil or is_allowed(own.sources, client)
  if own.basic == nil and own.external_auth == nil then
    return is_listed, false
  end
  -- As in nginx, an address that no list has satisfies nothing, and one that is denied can authenticate.
  if own.satisfy_any then
    return true, not (is_listed and own.sources and own.sources.allow)
  end
  return is_listed, true
end

-- `facts`: client (binary), secure_authority (where the host is reached over HTTPS), method, cors (headers for the origin), secure, name, authority, target, path (that was compared). Returns the status to answer with and
-- the location of a redirect; or nil, nil, the target and prefix for the backend if they are changed, and whether the client must
-- authenticate.
function policy.decide(route, facts)
  local own = route.policy
  if own.redirect then
    return own.redirect.status, policy.fill(own.redirect.to, facts)
  end
  if own.secure and not facts.secure then
    return 308, "https://" .. facts.secure_authority .. facts.target
  end
  if facts.method == "OPTIONS" and facts.cors then
    return 204
  end
  local is_open, authenticates = access_of(own, facts.client)
  if not is_open then
    return 403
  end
  if own.rewrite == nil or route.pattern == nil then
    return nil, nil, nil, nil, authenticates
  end
  local target, prefix = rewritten(own.rewrite, route.pattern, facts)
  -- A path may get dot segments by the rewrite. ngx.req.set_uri, for gRPC, fails for control characters.
  if not request.path(target) or has_control(target) then
    return 400
  end
  return nil, nil, target, prefix, authenticates
end

return policy
