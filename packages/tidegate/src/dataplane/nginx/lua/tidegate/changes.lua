-- What the agent writes into the shared dictionaries. One change a line, fields separated by tabs:
--   = <dictionary> <key> <value>     - <dictionary> <key>
-- Values are taken as they are. In keys, tabs, line ends and backslashes come with a backslash.
local shared = ngx.shared

local DICTIONARIES = {
  hosts = shared.tidegate_hosts,
  upstreams = shared.tidegate_upstreams,
  certificates = shared.tidegate_certificates,
}

local changes = {}

local ESCAPES = { ["\\t"] = "\t", ["\\r"] = "\r", ["\\n"] = "\n", ["\\\\"] = "\\" }

local function unescaped(key)
  return (string.gsub(key, "\\[trn\\]", ESCAPES))
end

-- Nil and why: it was not made.
function changes.make(line, version)
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

return changes
