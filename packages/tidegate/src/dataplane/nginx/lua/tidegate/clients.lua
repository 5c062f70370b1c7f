-- What is believed about the client of the current request: its address, and the scheme, host and port that it has used. Must
-- agree with packages/tidegate/src/ingress/clients/client-facts.ts; tests compare the two.
local ffi = require "ffi"
local networks = require "tidegate.networks"
local read_forwarded = require "tidegate.forwarded"
local request = require "tidegate.request"
local sections = require "tidegate.sections"
local settings = require "tidegate.settings"
local tables = require "tidegate.tables"

ffi.cdef "int inet_pton(int family, const char *text, void *octets);"

local C, var = ffi.C, ngx.var
local find, match, gmatch, lower = string.find, string.match, string.gmatch, string.lower
local AF_INET, AF_INET6 = 2, 10
local ENTRY = settings.clients_entry

local clients = {}

local octets = ffi.new "unsigned char[16]"

-- The address in binary form; nil if the text is not one.
local function binary_of(text)
  if C.inet_pton(AF_INET, text, octets) == 1 then
    return ffi.string(octets, 4)
  end
  if C.inet_pton(AF_INET6, text, octets) == 1 then
    return networks.address(ffi.string(octets, 16))
  end
end

-- The settings of the current generation by section: a request then reads only a variable. `false` if there are none.
local known, known_generation = {}, nil

local function read_settings(port, generation)
  local entry = tables.host(port and sections.prefix(port) .. ENTRY or ENTRY, generation)
  return entry and entry.clients or false
end

-- `port` is that of a section. Without it, the table is that of one router.
function clients.settings(port, generation)
  if generation ~= known_generation then
    known, known_generation = {}, generation
  end
  local key = port or 0
  local own = known[key]
  if own == nil then
    own = read_settings(port, generation)
    known[key] = own
  end
  return own
end

local function header_of(name)
  local value = ngx.req.get_headers(0)[name]
  return type(value) == "table" and table.concat(value, ", ") or value
end

local function is_trusted(own, binary)
  return binary ~= nil and networks.has(own.trusted, binary)
end

-- Each proxy appends the address of the one before it: the list is read backward, until an address is not that of a trusted proxy.
local function first_untrusted(own, sender, addresses)
  local client = sender
  for i = #addresses, math.max(1, #addresses - settings.max_proxies + 1), -1 do
    local binary = binary_of(addresses[i])
    if binary == nil then
      return client
    end
    client = addresses[i]
    if not is_trusted(own, binary) then
      return client
    end
  end
  return client
end

local function listed(value)
  local addresses = {}
  for each in gmatch(value .. ",", "([^,]*),") do
    addresses[#addresses + 1] = match(each, "^%s*(.-)%s*$")
  end
  return addresses
end

-- The address of a node of the header Forwarded, without its port.
local function node_address(node)
  local bracketed, after = match(node, "^%[([^%]]*)%](.*)$")
  if bracketed then
    return (after == "" or find(after, "^:%d%d?%d?%d?%d?$")) and bracketed or node
  end
  local address, port = match(node, "^([%d.]+):?(%d*)$")
  return address and #port <= 5 and address or node
end

local function proto_of(text)
  local proto = text and lower(text)
  return (proto == "http" or proto == "https") and proto or nil
end

local function host_of(host)
  return host and host ~= "" and request.host(host) and host or nil
end

local function port_of(text)
  local port = text and find(text, "^[1-9]%d?%d?%d?%d?$") and tonumber(text)
  return port and port <= 65535 and port or nil
end

-- The address of the client and, if the sender may report them, its scheme, host and port.
local function reported(own, sender)
  local value = header_of(own.header) or ""
  local elements = own.header == "forwarded" and read_forwarded(value)
  local addresses = {}
  for i, element in ipairs(elements or {}) do
    addresses[i] = node_address(element["for"] or "")
  end
  local client = first_untrusted(own, sender, elements and addresses or listed(value))
  if own.full_forwarded_for then
    local before = elements and "" or value
    var.tidegate_forwarded_for = before == "" and sender or before .. ", " .. sender
  end
  if not own.whole_url then
    return client
  end
  if elements then
    local last = elements[#elements] or {}
    return client, proto_of(last.proto), host_of(last.host)
  end
  return client,
    proto_of(header_of "x-forwarded-proto"),
    host_of(header_of "x-forwarded-host"),
    port_of(header_of "x-forwarded-port")
end

-- Sets the variables of nginx that differ from what the connection shows. Returns whether the client has used HTTPS.
function clients.believe(own, secure)
  local proto, host, port
  if own.trusted and is_trusted(own, networks.address(var.binary_remote_addr)) then
    local peer = var.remote_addr
    local proxied = settings.proxy_protocol and var.proxy_protocol_addr
    local sender = proxied and proxied ~= "" and binary_of(proxied) and proxied or peer
    local client = sender
    if own.header and is_trusted(own, binary_of(sender)) then
      client, proto, host, port = reported(own, sender)
    end
    if client ~= peer then
      var.tidegate_reported_client = client
    end
  end
  if proto then
    secure = proto == "https"
    var.tidegate_reported_scheme = proto
  end
  if host then
    var.tidegate_reported_host = host
  end
  port = port or own.ports and (secure and own.ports.https or own.ports.http)
  if port then
    var.tidegate_reported_port = port
  end
  return secure
end

-- The address of the client in binary form.
function clients.binary()
  local address = var.tidegate_reported_client
  if address == nil or address == "" then
    return networks.address(var.binary_remote_addr)
  end
  return binary_of(address)
end

-- Where the client reaches a host over HTTPS. `name` is the host that was found.
function clients.secure_authority(own, name)
  local reported_host = own and var.tidegate_reported_host
  local host = reported_host and reported_host ~= "" and request.host(reported_host) or name
  local port = own and own.ports and own.ports.https or 443
  return port == 443 and host or host .. ":" .. port
end

return clients
