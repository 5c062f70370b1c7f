-- Asks clients for the name and password of a user. Must agree with packages/tidegate/src/dataplane/embedded/authenticate.ts;
-- tests compare the two.
local passwords = require "tidegate.passwords"
local tables = require "tidegate.tables"

local var = ngx.var

local authenticate = {}

-- The namespace of the Secret, which pays for the checks of its users. The key may begin with the number of a section.
local function owner_of(id)
  return string.match(id, "([^:/]*)/")
end

-- Returns nil if the client is a user, or the status to answer with and the headers.
function authenticate.basic(basic)
  local credentials = tables.credentials(basic.credentials, tables.generation())
  if credentials == nil then
    return 503
  end
  local name, password = passwords.sent(var.http_authorization)
  local hash = name and credentials.users[name]
  local is_decoy = name ~= nil and hash == nil
  if is_decoy then
    hash = passwords.decoy(name, credentials.hashes)
  end
  local verdict = hash and passwords.check(owner_of(basic.credentials), password, hash, is_decoy)
  if verdict == "right" then
    return nil
  end
  if verdict == "busy" then
    return 503, { ["Retry-After"] = 1 }
  end
  return 401, { ["WWW-Authenticate"] = 'Basic realm="' .. basic.realm .. '"' }
end

return authenticate
