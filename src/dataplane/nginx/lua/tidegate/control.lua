-- The agent's own entrance, behind a socket that nobody else can open. One change a line, fields separated by tabs:
--   = <dictionary> <key> <value>     - <dictionary> <key>
-- Values are taken as they are. In keys, tabs, line ends and backslashes come with a backslash.
local shared = ngx.shared
local state = shared.tidegate_state

local DICTIONARIES = {
  hosts = shared.tidegate_hosts,
  pools = shared.tidegate_pools,
  certificates = shared.tidegate_certificates,
}

local control = {}

local function refuse(status, text)
  ngx.status = status
  ngx.say(text)
  return ngx.exit(ngx.OK)
end

local ESCAPES = { ["\\t"] = "\t", ["\\r"] = "\r", ["\\n"] = "\n", ["\\\\"] = "\\" }

local function unescaped(key)
  return (string.gsub(key, "\\[trn\\]", ESCAPES))
end

local function change(line, version)
  local verb, name, rest = string.match(line, "^([=-])\t(%l+)\t(.*)$")
  local dict = DICTIONARIES[name]
  if dict == nil then
    return nil, "no such change"
  end
  if verb == "-" then
    dict:delete(unescaped(rest))
    return true
  end
  local key, value = string.match(rest, "^([^\t]*)\t(.*)$")
  return dict:safe_set(unescaped(key), value, 0, version)
end

-- The generation is the last to change: until then workers go by what they have read.
function control.change()
  local version = tonumber(ngx.var.arg_version)
  ngx.req.read_body()
  for line in string.gmatch(ngx.req.get_body_data() or "", "[^\n]+") do
    local ok, why = change(line, version)
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
