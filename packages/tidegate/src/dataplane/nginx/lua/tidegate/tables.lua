-- The route table as workers read it. Only the agent writes to these dictionaries. While nothing
-- changes, a request for cached entries reads only the generation from shared memory.
local decode = require "tidegate.decode"
local entries = require "tidegate.entries"

local shared = ngx.shared
local state = shared.tidegate_state

local host, known_host = entries.new(shared.tidegate_hosts, decode.host)

return {
  host = host,
  known_host = known_host,
  credentials = entries.new(shared.tidegate_credentials, decode.credentials),
  upstream = entries.new(shared.tidegate_upstreams, decode.upstream),
  generation = function()
    return state:get("generation")
  end,
}
