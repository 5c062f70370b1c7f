-- The agent's own entrance, behind a socket that nobody else can open.
local changes = require "tidegate.changes"

local state = ngx.shared.tidegate_state

local control = {}

local function refuse(status, text)
  ngx.status = status
  ngx.say(text)
  return ngx.exit(ngx.OK)
end

-- The generation is the last to change: until then workers go by what they have read.
function control.change()
  local version = tonumber(ngx.var.arg_version)
  ngx.req.read_body()
  for line in string.gmatch(ngx.req.get_body_data() or "", "[^\n]+") do
    local ok, why = changes.make(line, version)
    if not ok then
      return refuse(why == "no memory" and 507 or 400, why)
    end
  end
  if ngx.var.arg_commit then
    state:set("generation", version)
  end
  return control.state()
end

-- Workers look at the generation with every request, so all that are alive go by it.
function control.state()
  local workers = {}
  for id = 0, ngx.worker.count() - 1 do
    workers[#workers + 1] = state:get("worker" .. id)
  end
  ngx.say('{"generation":', state:get("generation"), ',"workers":[', table.concat(workers, ","), "]}")
end

return control
