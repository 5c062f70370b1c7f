-- Chooses the certificate for a TLS handshake: the one for the requested host, else for its wildcard, else the default
-- certificate of the table. If there is none, nginx presents the certificate in its configuration.
local cjson = require "cjson"
local ssl = require "ngx.ssl"
local entries = require "tidegate.entries"
local request = require "tidegate.request"
local tables = require "tidegate.tables"

-- Keeps the previous certificate if the new one is invalid. Parsed certificates are cached, because parsing is slow.
local function decode(text, before, host)
  local pair = cjson.decode(text)
  local certificate, why = ssl.parse_pem_cert(pair.certificate)
  local key
  if certificate then
    key, why = ssl.parse_pem_priv_key(pair.key)
  end
  if not key then
    ngx.log(ngx.ERR, "cannot read the certificate for ", host, ": ", why)
    return before or {}
  end
  return { certificate = certificate, key = key }
end

local read = entries.new(ngx.shared.tidegate_certificates, decode)

-- Ignores a certificate that could not be read.
local function certificate_of(host, generation)
  local pair = read(host, generation)
  return pair and pair.key and pair
end

-- The key of the default certificate: a dictionary cannot have an empty key.
local ANY = "*"

local function find(host)
  local generation = tables.generation()
  local wildcard = request.wildcard(host)
  return host ~= "" and certificate_of(host, generation)
    or wildcard and certificate_of(wildcard, generation)
    or certificate_of(ANY, generation)
end

local function show(pair)
  assert(ssl.clear_certs())
  assert(ssl.set_cert(pair.certificate))
  assert(ssl.set_priv_key(pair.key))
end

return function()
  local found = find(request.host(ssl.server_name()) or "")
  if found then
    show(found)
  end
end
