-- Sends copies of requests to another server. Clients do not wait for them. Must agree with
-- packages/tidegate/src/dataplane/embedded/mirrors.ts; tests compare the two.
local ask_server = require "tidegate.ask_server"
local client_headers = require "tidegate.client_headers"
local endpoints = require "tidegate.endpoints"
local loops = require "tidegate.loops"
local policy = require "tidegate.policy"
local settings = require "tidegate.settings"
local tables = require "tidegate.tables"

local var = ngx.var
local MAX_BODY = settings.max_mirrored_body_bytes

local mirror = {}

-- The complete body of the request.
local function read_body()
  ngx.req.read_body()
  local data, path = ngx.req.get_body_data(), ngx.req.get_body_file()
  if data or not path then
    return data or ""
  end
  local file = assert(io.open(path, "rb"))
  data = file:read "*a"
  file:close()
  return data
end

-- Whether the request has a body, and its length if that is known.
local function body_of()
  local length = tonumber(var.content_length)
  if length then
    return length > 0, length
  end
  local method = ngx.req.get_method()
  local may_follow = var.http2 ~= "" and method ~= "GET" and method ~= "HEAD"
  return var.http_transfer_encoding ~= nil or may_follow
end

local BODILESS = { POST = true, PUT = true, PATCH = true }

local function text_of(own, facts, body)
  local method = ngx.req.get_method()
  local lines = { method .. " " .. policy.fill(own.target, facts) .. " HTTP/1.1", "Host: " .. own.host }
  client_headers(lines, {})
  lines[#lines + 1] = loops.line()
  local function add(name, value)
    lines[#lines + 1] = name .. ": " .. value
  end
  add("X-Request-Id", var.tidegate_request_id)
  add("X-Real-IP", var.tidegate_client)
  add("X-Forwarded-For", var.tidegate_sent_forwarded_for)
  if facts.authority ~= "" then
    add("X-Forwarded-Host", var.tidegate_forwarded_host)
  end
  add("X-Forwarded-Port", var.tidegate_port)
  add("X-Forwarded-Proto", var.tidegate_scheme)
  if var.tidegate_prefix and var.tidegate_prefix ~= "" then
    add("X-Forwarded-Prefix", var.tidegate_prefix)
  end
  if body or BODILESS[method] then
    add("Content-Length", body and #body or 0)
  end
  add("Connection", "close")
  return table.concat(lines, "\r\n") .. "\r\n\r\n" .. (body or "")
end

local function deliver(premature, question, endpoint)
  if premature then
    return
  end
  local answer, why = ask_server(question, endpoint)
  if not answer then
    ngx.log(ngx.WARN, "cannot send the copy of a request to ", endpoint.name, ": ", why)
  end
end

local function server_name(own, upstream)
  if not own.secure then
    return nil
  end
  local is_address = string.find(upstream.service, ":", 1, true) or string.find(upstream.service, "^[%d.]+$")
  return is_address and "" or upstream.service
end

-- `limit` is that of the route for bodies: a larger one is refused.
function mirror.send(own, facts, limit)
  local upstream = tables.upstream(own.upstream, tables.generation())
  local endpoint = upstream and upstream.endpoints[1] and endpoints.pick(upstream)
  if not endpoint or var.tidegate_upgrade ~= "" then
    return
  end
  if loops.has_ended() then
    ngx.log(ngx.WARN, "the server that gets copies of requests for ", facts.name, " leads back to this router")
    return
  end
  local has_body, length = body_of()
  local is_refused = length and limit > 0 and length > limit
  if is_refused or own.withBody and has_body and not (length and length <= MAX_BODY) then
    return
  end
  local body = own.withBody and has_body and read_body() or nil
  local question = {
    method = ngx.req.get_method(),
    text = text_of(own, facts, body),
    servername = server_name(own, upstream),
    owner = upstream.id,
    connect_ms = settings.connect_timeout_ms,
    read_ms = settings.read_timeout_ms,
  }
  local ok, why = ngx.timer.at(0, deliver, question, endpoint)
  if not ok then
    ngx.log(ngx.WARN, "cannot send the copy of a request: ", why)
  end
end

return mirror
