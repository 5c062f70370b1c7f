-- Writes changes from the agent into the shared dictionaries. Each line is one change, with fields separated by tabs:
--   = <dictionary> <key> <value>     - <dictionary> <key>
-- Values are taken literally. In keys, tabs, line breaks and backslashes are escaped with a backslash.
local shared = ngx.shared

local DICTIONARIES = {
  hosts = shared.tidegate_hosts,
  upstreams = shared.tidegate_upstreams,
  certificates = shared.tidegate_certificates,
  credentials = shared.tidegate_credentials,
}

local changes = {}

local ESCAPES = { ["\\t"] = "\t", ["\\r"] = "\r", ["\\n"] = "\n", ["\\\\"] = "\\" }

local function unescaped(key)
  return (string.gsub(key, "\\[trn\\]", ESCAPES))
end

-- Returns true, or nil and a reason. `safe_set` fails when the dictionary is full; it never evicts other entries.
function changes.make(line, version)
  local verb, name, rest = string.match(line, "^([=-])\t(%l+)\t(.*)$")
  local dict = DICTIONARIES[name]
  if dict == nil then
    return nil, "invalid change"
  end
  if verb == "-" then
    dict:delete(unescaped(rest))
    return true
  end
  local key, value = string.match(rest, "^([^\t]*)\t(.*)$")
  return dict:safe_set(unescaped(key), value, 0, version)
end

return changes
