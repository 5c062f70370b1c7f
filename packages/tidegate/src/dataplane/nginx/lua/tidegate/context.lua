-- What is known of a request, from its route to its end. ngx.ctx is lost whenever a request goes on to another location;
-- this is not. The tables are used again, for requests come by the ten thousands.
local ffi = require "ffi"
local get_request = require "resty.core.base".get_request

local cast, tonumber = ffi.cast, tonumber

local context = {}

-- By the address of nginx's own record, which no other request has at the same time.
local live, spare, spares = {}, {}, 0
local MOST_SPARES = 4096

local function address()
  return tonumber(cast("uintptr_t", get_request()))
end

function context.begin(host, route, upstream, counts)
  local ctx = spare[spares]
  if ctx then
    spare[spares] = nil
    spares = spares - 1
  else
    ctx = { host = false, route = false, upstream = false, counts = false, endpoint = false, tried = false }
  end
  ctx.host, ctx.route, ctx.upstream, ctx.counts = host, route, upstream, counts
  live[address()] = ctx
  return ctx
end

function context.get()
  return live[address()]
end

-- Forgets it. Until the caller returns, it is still what it was.
function context.finish()
  local key = address()
  local ctx = live[key]
  if ctx then
    live[key] = nil
  end
  return ctx
end

function context.give_back(ctx)
  ctx.host, ctx.route, ctx.upstream, ctx.counts, ctx.endpoint, ctx.tried = false, false, false, false, false, false
  if spares < MOST_SPARES then
    spares = spares + 1
    spare[spares] = ctx
  end
end

return context
