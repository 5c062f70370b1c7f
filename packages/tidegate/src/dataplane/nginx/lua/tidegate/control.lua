-- Handles requests on the control socket. Only the agent can open the directory that the socket is in.
local changes = require "tidegate.changes"

local state = ngx.shared.tidegate_state

local control = {}

local function refuse(status, text)
  ngx.status = status
  ngx.say(text)
  return ngx.exit(ngx.OK)
end

-- Changes may arrive in several messages. Only the last one, with `commit`, increases the generation; until then workers
-- keep using the entries that they have read. A worker that reads an entry for the first time may get its new value
-- before the commit. That is safe, because upstreams are written before the hosts that name them.
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

-- A worker reads the generation at the start of each request. So once it is set, every worker uses it, and the number of
-- workers in this response tells the agent that all of them are running.
function control.state()
  local workers = {}
  for id = 0, ngx.worker.count() - 1 do
    workers[#workers + 1] = state:get("worker" .. id)
  end
  ngx.say('{"generation":', state:get("generation"), ',"workers":[', table.concat(workers, ","), "]}")
end

return control
