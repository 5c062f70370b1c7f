-- Changes headers of endpoints that name hosts and paths. Must agree with packages/tidegate/src/ingress/policy/responses.ts; tests
-- compare the two.
local pattern = require "tidegate.pattern"
local policy = require "tidegate.policy"
local request = require "tidegate.request"

local var = ngx.var
local lower, match, sub = string.lower, string.match, string.sub

local responses = {}

local function prepare(rule)
  return rule and { plain = not rule.from.code and rule.from, pattern = rule.from.code and pattern.prepare(rule.from), to = rule.to }
end

function responses.prepare(decoded)
  return {
    redirect = prepare(decoded.redirect),
    domain = prepare(decoded.cookieDomain),
    path = prepare(decoded.cookiePath),
  }
end

local function fill(to, facts, group)
  local parts = {}
  for i, part in ipairs(to) do
    parts[i] = type(part) == "number" and group(part) or policy.fill({ part }, facts)
  end
  return table.concat(parts)
end

local function none()
  return ""
end

local function without_dot(domain)
  return lower((string.gsub(domain, "^%.", "")))
end

-- The text in its place, or nil if it stays.
local function replaced(rule, text, facts, matches_whole)
  if rule.pattern then
    local steps = { left = pattern.MAX_STEPS }
    local slots = pattern.run(rule.pattern, text, steps)
    if not slots or steps.left < 0 then
      return nil
    end
    return fill(rule.to, facts, function(number)
      return pattern.group(slots, number, text)
    end)
  end
  local wanted = policy.fill(rule.plain, facts)
  if matches_whole then
    return without_dot(wanted) == without_dot(text) and without_dot(fill(rule.to, facts, none)) or nil
  end
  return sub(text, 1, #wanted) == wanted and fill(rule.to, facts, none) .. sub(text, #wanted + 1) or nil
end

local function cookie(own, value, facts)
  local first, rest = match(value, "^([^;]*)(.*)$")
  return first
    .. string.gsub(rest, ";([^;]*)", function(attribute)
      local before, name, text, after = match(attribute, "^([ \t]*(%a+)[ \t]*=[ \t]*)(.-)([ \t]*)$")
      local kind = name and lower(name)
      local rule = kind == "domain" and own.domain or kind == "path" and own.path
      local result = rule and replaced(rule, text, facts, kind == "domain")
      -- A variable must not add another attribute.
      return result and not string.find(result, ";", 1, true) and ";" .. before .. result .. after
    end)
end

local function redirect(own, facts)
  local header = ngx.header
  local location, refresh = header["Location"], header["Refresh"]
  local changed = location and replaced(own.redirect, location, facts)
  if changed then
    local is_path = sub(changed, 1, 1) == "/" and facts.name ~= ""
    header["Location"] = is_path and var.tidegate_scheme .. "://" .. facts.name .. changed or changed
  end
  local from, to = string.find(lower(refresh or ""), "url=", 1, true)
  changed = from and replaced(own.redirect, sub(refresh, to + 1), facts)
  if changed then
    header["Refresh"] = sub(refresh, 1, to) .. changed
  end
end

-- Changes the headers of the current response, which is that of an endpoint.
function responses.apply(own)
  local authority = var.http_host or ""
  local facts = {
    secure = var.tidegate_scheme == "https",
    name = request.host(authority) or "",
    authority = authority,
    target = var.request_uri,
  }
  if own.redirect then
    redirect(own, facts)
  end
  local cookies = (own.domain or own.path) and ngx.header["Set-Cookie"]
  if cookies then
    local list = type(cookies) == "table" and cookies or { cookies }
    for i, value in ipairs(list) do
      list[i] = cookie(own, value, facts)
    end
    ngx.header["Set-Cookie"] = list
  end
end

return responses
