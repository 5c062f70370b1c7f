-- Answers a request that no endpoint has answered. `balance.lua` may have decided the status; nginx would answer 500.
local answer = require "tidegate.answer"
local context = require "tidegate.context"
local errors = require "tidegate.errors"

return function()
  local ctx = context.get()
  local status = ctx and ctx.final or ngx.status
  if ctx and errors.replaces(ctx, status) and errors.send(status) then
    return
  end
  return answer(status)
end
