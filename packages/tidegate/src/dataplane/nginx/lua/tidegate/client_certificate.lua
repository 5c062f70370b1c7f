-- Client certificates: which handshakes ask for one, and whether a request has a valid one. Must agree with
-- packages/tidegate/src/dataplane/embedded/client-certificates.ts and packages/tidegate/src/ingress/match/client-certificate.ts.
local pattern = require "tidegate.pattern"
local request = require "tidegate.request"
local settings = require "tidegate.settings"
local ssl = require "ngx.ssl"
local tables = require "tidegate.tables"
local x509 = require "tidegate.x509"

local var = ngx.var
local sub = string.sub

local client_certificate = {}

-- The key of the entry of all hosts: a dictionary cannot have an empty key.
local ALL = "*"

local function needed_by(host, namespace)
  local rules = host.rules
  for i = 1, #rules + 1 do
    local rule = rules[i] or rules.fallback
    local own = rule and rule.policy and rule.policy.client_certificate
    if own and own.verify ~= "off" and (namespace == nil or host.namespaces[rule.number] == namespace) then
      return own
    end
  end
  return false
end

-- Each handshake needs the answer, and a host can have thousands of routes. Entries never change.
local function known_need(host, namespace)
  local answers = host.needs or {}
  host.needs = answers
  local key = namespace or 1
  if answers[key] == nil then
    answers[key] = needed_by(host, namespace)
  end
  return answers[key]
end

-- Which certificates a handshake for the host asks for, or nil.
local function wanted_for(name, host_of, generation)
  if name == "" then
    return nil
  end
  local wildcard = request.wildcard(name)
  local own = host_of(name, generation) or wildcard and host_of(wildcard, generation)
  local found = own and known_need(own)
  if found then
    return found
  end
  local all = host_of(ALL, generation)
  return all and known_need(all, own and own.namespace or nil) or nil
end

-- Authorities that were prepared. The entry of the table is replaced when they change.
local function prepared(id, generation)
  local credentials = tables.credentials(id, generation)
  if credentials == nil or credentials.authorities == nil then
    return nil
  end
  if credentials.store == nil then
    credentials.store = x509.prepare(credentials.authorities) or false
    credentials.chain = ssl.parse_pem_cert(table.concat(credentials.authorities.certificates)) or false
  end
  return credentials.store and credentials.chain and credentials or nil
end

-- Applies the settings of the host to the current handshake: its ciphers, and whose order decides.
function client_certificate.set_up(name, host_of)
  if name == "" then
    return
  end
  local generation = tables.generation()
  local wildcard = request.wildcard(name)
  local own = host_of(name, generation) or wildcard and host_of(wildcard, generation)
  if own and own.handshake then
    x509.set_ciphers(own.handshake.ciphers, own.handshake.order)
  end
end

-- Asks the client of the current handshake for a certificate, if the host needs one. `host_of` finds its entry.
function client_certificate.ask(name, host_of)
  local generation = tables.generation()
  local wanted = wanted_for(name, host_of, generation)
  local credentials = wanted and prepared(wanted.credentials, generation)
  -- Without authorities, all requests get 503.
  if not credentials then
    return
  end
  -- The handshake continues with any certificate: the response depends on the route.
  assert(ssl.verify_client(credentials.chain, wanted.depth))
  x509.forbid_resumption()
end

-- The authority is not known.
local TOLERATED = {}
for _, code in ipairs(settings.tolerated_certificate_errors) do
  TOLERATED[code] = true
end

-- Results by connection: requests on a connection come again and again. They are checked again after a while, because
-- certificates and lists expire.
local MAX_KEPT, KEPT_SECONDS = 8192, 30
local kept, count = {}, 0

local function code_of(own, credentials)
  local key = var.connection
  local result = kept[key]
  if
    result
    and result.store == credentials.store
    and result.depth == own.depth
    and ngx.now() - result.at < KEPT_SECONDS
  then
    return result.code
  end
  if result == nil then
    if count >= MAX_KEPT then
      kept, count = {}, 0
    end
    count = count + 1
  end
  local code = x509.verify(credentials.store, own.depth, TOLERATED)
  kept[key] = { store = credentials.store, depth = own.depth, at = ngx.now(), code = code }
  return code
end

-- Whether a subject matches from a common name on. Commas and plus signs in values have a backslash before them.
local function subject_matches(compiled, subject)
  if #subject > settings.max_subject_characters then
    return false
  end
  local steps = { left = pattern.MAX_STEPS }
  local is_start, at = true, 1
  while at <= #subject do
    if is_start and sub(subject, at, at + 2) == "CN=" then
      local found = pattern.run(compiled, sub(subject, at), steps)
      if steps.left < 0 then
        return false
      end
      if found then
        return true
      end
    end
    local character = sub(subject, at, at)
    is_start = character == "," or character == "+"
    at = at + (character == "\\" and 2 or 1)
  end
  return false
end

-- The headers of the endpoint. Those of the client with these names have been removed.
local function set_headers(own, code)
  local set = ngx.req.set_header
  if code == nil then
    set("ssl-client-verify", "NONE")
    return
  end
  if own.passes then
    set("ssl-client-cert", var.ssl_client_escaped_cert)
  end
  set("ssl-client-verify", code == 0 and "SUCCESS" or "FAILED:" .. x509.text(code))
  for header, name in pairs { ["ssl-client-subject-dn"] = "ssl_client_s_dn", ["ssl-client-issuer-dn"] = "ssl_client_i_dn" } do
    local value = var[name]
    if value and value ~= "" then
      set(header, value)
    end
  end
end

-- Checks the certificate of the client of the current request. Returns nil if it is served, or a status and whether the
-- client is redirected to the error page.
function client_certificate.check(own, secure, name, host_of)
  local generation = tables.generation()
  local credentials = prepared(own.credentials, generation)
  if not credentials then
    return 503
  end
  local is_asked = own.verify ~= "off" and secure
  local code
  if is_asked then
    -- The handshake was for another host, or with other authorities: its result means nothing for this request.
    if request.host(var.ssl_server_name or "") ~= name then
      return 421
    end
    local wanted = wanted_for(name, host_of, generation)
    if not wanted or wanted.credentials ~= own.credentials then
      return 421
    end
    code = code_of(own, credentials)
  end
  if own.verify == "on" and not secure then
    return 403
  end
  local is_tolerated = code == nil or code == 0 or own.verify == "optionalNoCa" and TOLERATED[code]
  if own.verify == "on" and code == nil or not is_tolerated then
    return own.errorPage and 302 or 400
  end
  if own.subject and not subject_matches(own.subject, code and var.ssl_client_s_dn or "") then
    return 403
  end
  set_headers(own, code)
end

return client_certificate
