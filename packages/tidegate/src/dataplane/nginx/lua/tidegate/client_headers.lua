-- Adds the headers of the current request to the lines of another one. Headers that only proxies may set must have been removed.
local lower, concat = string.lower, table.concat

-- They belong to the connection, or the router sets them itself.
local REPLACED = {}
for name in string.gmatch(
  "connection keep-alive proxy-connection te transfer-encoding upgrade http2-settings expect trailer host x-request-id "
    .. "content-length cdn-loop",
  "%S+"
) do
  REPLACED[name] = true
end

-- `others`: further names that are left out.
return function(lines, others)
  for name, value in pairs(ngx.req.get_headers(0, true)) do
    local key = lower(name)
    if not REPLACED[key] and not others[key] then
      local values = type(value) == "table" and value or { value }
      if key == "cookie" then
        values = { concat(values, "; ") }
      end
      for _, each in ipairs(values) do
        lines[#lines + 1] = name .. ": " .. (each == true and "" or each)
      end
    end
  end
end
