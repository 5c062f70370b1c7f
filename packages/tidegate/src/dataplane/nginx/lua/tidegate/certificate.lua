-- Chooses the certificate for a TLS handshake: the one for the requested host, else for its wildcard, else the default
-- certificate of the table. If there is none, nginx presents the certificate in its configuration. An entry without a
-- certificate keeps the certificate of the wildcard, which belongs to another namespace, from being used for the host.
local cjson = require "cjson"
local client_certificate = require "tidegate.client_certificate"
local ssl = require "ngx.ssl"
local entries = require "tidegate.entries"
local request = require "tidegate.request"
local sections = require "tidegate.sections"
local tables = require "tidegate.tables"

-- For the host, nginx presents the certificate in its configuration.
local function withhold()
  return { withheld = true }
end

-- Parsed certificates are cached, because parsing is slow. An unreadable one is not replaced by the version before it:
-- only some workers have read that, and it may have been removed on purpose.
local function decode(text, _, host)
  local pair = cjson.decode(text)
  if pair.certificate == "" then
    return withhold()
  end
  local certificate, why = ssl.parse_pem_cert(pair.certificate)
  local key
  if certificate then
    key, why = ssl.parse_pem_priv_key(pair.key)
  end
  if not key then
    ngx.log(ngx.ERR, "cannot read the certificate for ", host, ": ", why)
    return withhold()
  end
  return { certificate = certificate, key = key }
end

local read = entries.new(ngx.shared.tidegate_certificates, decode)

-- The key of the default certificate: a dictionary cannot have an empty key.
local ANY = "*"

local function find(host, prefix)
  local generation = tables.generation()
  local wildcard = request.wildcard(host)
  return host ~= "" and read(prefix .. host, generation)
    or wildcard and read(prefix .. wildcard, generation)
    or read(prefix .. ANY, generation)
end

local function show(pair)
  assert(ssl.clear_certs())
  assert(ssl.set_cert(pair.certificate))
  assert(ssl.set_priv_key(pair.key))
end

-- `port` is that of a section. Without it, the table is that of one router.
return function(port)
  local name = request.host(ssl.server_name()) or ""
  local found = find(name, port and sections.prefix(port) or "")
  if found and not found.withheld then
    show(found)
  end
  local host_of = port and sections.hosts(port) or tables.host
  client_certificate.set_up(name, host_of)
  client_certificate.ask(name, host_of)
end
