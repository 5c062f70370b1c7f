-- Refuses request heads of HTTP/1 that nginx accepts but other parsers may read differently: lines that end with a bare
-- LF, lines without a colon, control characters, absolute targets, unknown versions, and heads beyond the limits. Node.js
-- refuses the same in the embedded data plane. A proxy in front of the router may have decided by another reading.
--
-- nginx shows the head to Lua only after parsing. By then it has overwritten the byte behind each name and value with NUL:
-- the colon, and the CR of a line end, or the LF itself if it is a bare one. So a well-formed line ends with NUL LF, and the
-- lines before and after a bare LF look like one line. If the buffer has as many lines as nginx has found headers, there is
-- no bare LF. One case cannot be seen: a bare LF after exactly one space, whose place the NUL takes.
local check_connection = require "tidegate.connection"
local check_lines = require "tidegate.lines"
local clear_proxy_headers = require "tidegate.proxy_headers"
local ffi = require "ffi"
local get_request = require "resty.core.base".get_request
local settings = require "tidegate.settings"
require "resty.core.request"

local C = ffi.C
local find, var, raw_header = ngx.re.find, ngx.var, ngx.req.raw_header
local MAX_BYTES, MAX_HEADERS = settings.max_head_bytes, settings.max_headers

local headers = ffi.new("ngx_http_lua_ffi_table_elt_t[?]", MAX_HEADERS + 1)
local truncated = ffi.new "int[1]"
local method, method_length = ffi.new "unsigned char *[1]", ffi.new "size_t[1]"

-- A plain head with this number of headers, as it is in the buffer. It has nothing that must be looked at more closely:
-- names that nginx ignores, spaces at the end of a line, an upgrade, unusual options of the connection, or headers that only
-- proxies may set. Those that the configuration of nginx replaces do not count: load balancers send them with each request.
local FIRST_LINE = [=[\A[A-Z-]++ /[\x21\x22\x24-\x7e]*+ HTTP/1\.[01]\r\n]=]
local REPLACED = [=[(?!x-forwarded-(?:for|host|port|proto)\x00)]=]
local UNUSUAL = [=[upgrade\x00|connection\x00(?! ?(?:keep-alive|close)\x00)|]=]
  .. REPLACED .. "(?:" .. table.concat(settings.proxy_header_prefixes, "|") .. ")"
local HEADER = "(?!(?i)" .. UNUSUAL .. [=[)[A-Za-z0-9-]++\x00[\t\x20-\x7e\x80-\xff]*+\x00\n]=]
local PLAIN = {}
for count = 0, MAX_HEADERS do
  PLAIN[count] = FIRST_LINE .. "(?:" .. HEADER .. "){" .. count .. [[}\r\n\z]]
end
-- The NUL and LF after the last value, and the empty line.
local AFTER_VALUE = 4

-- This runs for each request, so it must not prevent LuaJIT from compiling the code around it: it has no loop, and calls
-- only functions that LuaJIT knows.
local function is_plain(request, count, length)
  C.ngx_http_lua_ffi_req_get_method_name(request, method, method_length)
  C.ngx_http_lua_ffi_req_get_headers(request, headers, count, 1)
  local start, last = method[0], headers[count - 1].value
  -- Otherwise the head may be in several buffers.
  local is_contiguous = last.data + last.len + AFTER_VALUE - start == length
  return is_contiguous and find(ffi.string(start, length), PLAIN[count], "jo")
end

-- Returns nil if the head is well-formed, or the status to answer with.
return function()
  local request, length = get_request(), tonumber(var.request_length)
  local count = C.ngx_http_lua_ffi_req_get_headers_count(request, 0, truncated)
  if length > MAX_BYTES or count > MAX_HEADERS then
    return 431
  end
  if count > 0 and is_plain(request, count, length) then
    return nil
  end
  local refusal = check_lines(raw_header(), headers, count) or check_connection()
  if not refusal then
    clear_proxy_headers()
  end
  return refusal
end
