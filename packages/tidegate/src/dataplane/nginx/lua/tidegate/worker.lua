-- Runs when a worker starts, also when it replaces one that exited. The dictionaries exist before and survive it.
local metrics = require "tidegate.metrics"

local state = ngx.shared.tidegate_state

return function()
  math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
  state:set("worker" .. ngx.worker.id(), ngx.worker.pid())
  assert(metrics.start())
end
