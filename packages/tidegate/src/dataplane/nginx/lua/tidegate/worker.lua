-- A worker begins: one of the first, or in the place of one that is gone. The dictionaries are there before it.
local metrics = require "tidegate.metrics"

local state = ngx.shared.tidegate_state

return function()
  math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
  state:set("worker" .. ngx.worker.id(), ngx.worker.pid())
  assert(metrics.start())
end
