-- Reads the header Forwarded (RFC 7239). Must agree with packages/tidegate/src/ingress/clients/forwarded.ts; tests compare the two.
local find, gsub, lower, sub, re_match = string.find, string.gsub, string.lower, string.sub, ngx.re.match

local PAIR = [=[\G[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([!#$%&'*+.^_`|~0-9A-Za-z:\[\]-]+|"(?:[^"\\]|\\.)*")[ \t]*]=]

-- The elements, each with its parameters. A list that breaks the syntax anywhere is not a list at all.
return function(header)
  local elements, at = { {} }, 1
  while true do
    local position = { pos = at }
    local found = re_match(header, PAIR, "jos", position)
    if not found then
      return {}
    end
    local element, name, value = elements[#elements], lower(found[1]), found[2]
    if element[name] then
      return {}
    end
    if find(value, '^"') then
      value = gsub(sub(value, 2, -2), "\\(.)", "%1")
    end
    element[name] = value
    at = at + #found[0]
    local separator = sub(header, at, at)
    if separator == "" then
      return elements
    end
    if separator == "," then
      elements[#elements + 1] = {}
    elseif separator ~= ";" then
      return {}
    end
    at = at + 1
  end
end
