-- Keeps a client at an endpoint by a cookie. Must agree with packages/tidegate/src/ingress/policy/affinity.ts; tests compare the
-- two.
local cookies = require "tidegate.cookies"

local find, concat = string.find, table.concat

local affinity = {}

-- By upstream: its endpoints by the value of the cookie, and the values by the name of the endpoint. Upstreams are replaced when
-- they change, and the table is weak.
local known = setmetatable({}, { __mode = "k" })

local function keys_of(upstream)
  local keys = known[upstream]
  if keys == nil then
    keys = { endpoints = {}, values = {} }
    for _, endpoint in ipairs(upstream.endpoints) do
      local value = ngx.md5(upstream.label .. " " .. endpoint.name)
      keys.endpoints[value] = endpoint
      keys.values[endpoint.name] = value
    end
    known[upstream] = keys
  end
  return keys
end

-- The endpoint that the cookie of the client names, or nil.
function affinity.endpoint(own, upstream)
  return keys_of(upstream).endpoints[cookies.get(own.name)]
end

-- Browsers that take SameSite=None for SameSite=Strict, or ignore such a cookie.
local function rejects_none(agent)
  return find(agent, "iP[^;]*; CPU [^)]*OS 12[_%d]")
    or (find(agent, "Macintosh;[^)]*Mac OS X 10_14[_%d)]") and find(agent, "Version/[%d.]+ [^)]*Safari/"))
    or find(agent, "Chrom[^ /]*/5[1-9]%.")
    or find(agent, "Chrom[^ /]*/6[0-6]%.")
end

local function path_of(own, route)
  local path = own.path or not route.pattern and route.path
  return path and find(path, "^/[%w%-._~%%/!$&'()*+:@]*$") and #path <= 501 and path or "/"
end

local function header_for(own, value, route)
  local parts = { own.name .. "=" .. value, "Path=" .. path_of(own, route) }
  local function add(text)
    parts[#parts + 1] = text
  end
  if own.expires then
    add("Expires=" .. ngx.http_time(ngx.time() + own.expires))
  end
  if own.maxAge then
    add("Max-Age=" .. own.maxAge)
  end
  if own.domain then
    add("Domain=" .. own.domain)
  end
  local secure = own.secure
  if secure == nil then
    secure = ngx.var.tidegate_scheme == "https"
  end
  if secure then
    add "Secure"
  end
  add "HttpOnly"
  local is_left_out = own.isConditional and own.sameSite == "None" and rejects_none(ngx.var.http_user_agent or "")
  if own.sameSite and not is_left_out then
    add("SameSite=" .. own.sameSite)
  end
  return concat(parts, "; ")
end

-- The header Set-Cookie for the endpoint that has answered, or nil if the client keeps its cookie.
function affinity.cookie(own, ctx)
  local keys = keys_of(ctx.upstream)
  local value = keys.values[ctx.endpoint]
  local sent = cookies.get(own.name)
  -- An endpoint that did not answer may do so again.
  if value == nil or sent == value or keys.endpoints[sent] and not own.changesOnFailure then
    return nil
  end
  return header_for(own, value, ctx.route)
end

return affinity
