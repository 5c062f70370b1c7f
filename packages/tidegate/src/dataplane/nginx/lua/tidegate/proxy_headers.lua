-- Removes headers of the client that only proxies may set; see packages/tidegate/src/ingress/client-headers.ts. The
-- configuration of nginx replaces those with a fixed name, but cannot match the beginning of a name.
local ffi = require "ffi"
local get_request = require "resty.core.base".get_request
local settings = require "tidegate.settings"
require "resty.core.request"

local C = ffi.C
local lower, sub, clear_header = string.lower, string.sub, ngx.req.clear_header
local NAMES, PREFIXES = settings.proxy_headers, settings.proxy_header_prefixes
local MAX_HEADERS = settings.max_headers

local headers = ffi.new("ngx_http_lua_ffi_table_elt_t[?]", MAX_HEADERS)
local truncated = ffi.new "int[1]"

local function is_proxy_header(name)
  if NAMES[name] then
    return true
  end
  for i = 1, #PREFIXES do
    local prefix = PREFIXES[i]
    if sub(name, 1, #prefix) == prefix then
      return true
    end
  end
  return false
end

-- They belong to a connection of HTTP/1. A request of HTTP/2 with one of them is malformed (RFC 9113, section 8.2.2).
local OF_CONNECTION = {
  connection = true,
  ["keep-alive"] = true,
  ["proxy-connection"] = true,
  ["transfer-encoding"] = true,
  upgrade = true,
}

-- Names repeat. Clients can send any number of different ones, so the cache is emptied when it is full.
local MAX_CACHED = 4096
local verdicts, cached = {}, 0

local function verdict_of(name)
  local verdict = verdicts[name]
  if verdict == nil then
    if cached >= MAX_CACHED then
      verdicts, cached = {}, 0
    end
    verdict = is_proxy_header(lower(name)) and "proxy" or OF_CONNECTION[lower(name)] and "connection" or false
    verdicts[name] = verdict
    cached = cached + 1
  end
  return verdict
end

-- Returns the number of headers, or nil if there are more than a request may have; and whether one of them belongs to a
-- connection of HTTP/1.
return function()
  local request = get_request()
  local count = C.ngx_http_lua_ffi_req_get_headers_count(request, 0, truncated)
  if count > MAX_HEADERS then
    return nil
  end
  C.ngx_http_lua_ffi_req_get_headers(request, headers, count, 1)
  local found
  local is_of_connection = false
  for i = 0, count - 1 do
    local key = headers[i].key
    local name = ffi.string(key.data, key.len)
    local verdict = verdict_of(name)
    if verdict == "connection" then
      is_of_connection = true
    elseif verdict then
      -- Clearing a header moves those behind it.
      found = found or {}
      found[#found + 1] = name
    end
  end
  for i = 1, found and #found or 0 do
    clear_header(found[i])
  end
  return count, is_of_connection
end
