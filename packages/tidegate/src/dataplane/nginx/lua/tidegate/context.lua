-- The state of a request from routing to its end. nginx resets ngx.ctx whenever a request continues in another location
-- (ngx.exec); this table survives that. Tables are reused, to create no garbage at a high request rate.
local ffi = require "ffi"
local get_request = require "resty.core.base".get_request

local cast, tonumber = ffi.cast, tonumber

local context = {}

-- By the address of nginx's request structure, which is unique among the requests of this worker.
local live, spare, spares = {}, {}, 0
local MAX_SPARES = 4096

local function address()
  return tonumber(cast("uintptr_t", get_request()))
end

-- Creates the state of the current request. Unused fields are false, so that the table never changes its size.
function context.begin(host, route, upstream, counts)
  local ctx = spare[spares]
  if ctx then
    spare[spares] = nil
    spares = spares - 1
  else
    ctx = { host = false, route = false, upstream = false, counts = false, endpoint = false, tried = false }
    ctx.more_tries, ctx.limited, ctx.added, ctx.final, ctx.hash = false, false, false, false, false
    ctx.cookies, ctx.is_error = false, false
  end
  ctx.host, ctx.route, ctx.upstream, ctx.counts = host, route, upstream, counts
  live[address()] = ctx
  return ctx
end

function context.get()
  return live[address()]
end

-- Removes the state of the current request and returns it. The caller must return it with `give_back`.
function context.finish()
  local key = address()
  local ctx = live[key]
  if ctx then
    live[key] = nil
  end
  return ctx
end

-- Returns a state to the pool of spare ones.
function context.give_back(ctx)
  ctx.host, ctx.route, ctx.upstream, ctx.counts, ctx.endpoint, ctx.tried = false, false, false, false, false, false
  ctx.more_tries, ctx.limited, ctx.added, ctx.final, ctx.hash = false, false, false, false, false
  ctx.cookies, ctx.is_error = false, false
  if spares < MAX_SPARES then
    spares = spares + 1
    spare[spares] = ctx
  end
end

return context
