-- Checks the lines of a request head that is not plain; see head.lua.
local find = ngx.re.find
local TAB, LF, CR, SPACE = 9, 10, 13, 32

local FIRST_LINE = [=[\A[A-Z-]+ /[\x21\x22\x24-\x7e]* HTTP/1\.[01]\r\n]=]
local OTHER_VERSION = [=[\A[A-Z-]+ /[\x21\x22\x24-\x7e]* HTTP/[0-9.]+\r\n]=]
-- Lines with names that nginx ignores are not in the list of headers, but unchanged in the text. `raw_header` turns one
-- space at the end of another line into LF, so an LF before CR LF is not a mistake of the client: in a line that nginx
-- ignores, it would be before the empty line, and COMPLETE finds that.
local MALFORMED = [=[(?<!\r)\n(?!\r\n)|\n(?![!#$%&'*+.^_`|~0-9A-Za-z-]+:|\r|\z)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]]=]
local COMPLETE = [[\r\n\r\n\z]]

-- Whether CR LF follows a value. nginx has overwritten the first byte after it.
local function ends_line(after_value)
  local at = after_value + 1
  if at[0] == LF then
    return true
  end
  while at[0] == SPACE or at[0] == TAB do
    at = at + 1
  end
  return at[0] == CR and at[1] == LF
end

local function all_end_lines(headers, count)
  for i = 0, count - 1 do
    local value = headers[i].value
    if not ends_line(value.data + value.len) then
      return false
    end
  end
  return true
end

-- `text` is the head with restored colons and CRs; `headers` are the names and values in the buffer of nginx. Returns nil if
-- all lines are well-formed, or the status to answer with.
return function(text, headers, count)
  if not find(text, FIRST_LINE, "jo") then
    return find(text, OTHER_VERSION, "jo") and 505 or 400
  end
  if find(text, MALFORMED, "jo") or not find(text, COMPLETE, "jo") or not all_end_lines(headers, count) then
    return 400
  end
  return nil
end
