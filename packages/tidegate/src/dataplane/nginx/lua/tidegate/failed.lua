-- Answers a request that no endpoint has answered. `balance.lua` may have decided the status; nginx would answer 500.
local answer = require "tidegate.answer"
local context = require "tidegate.context"

return function()
  local ctx = context.get()
  return answer(ctx and ctx.final or ngx.status)
end
