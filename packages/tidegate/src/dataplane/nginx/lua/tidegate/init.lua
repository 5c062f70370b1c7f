-- Runs in the master before it forks. All modules are loaded here, so that workers, which may run as another user, need no
-- access to the files. The entry points are in a global variable: LuaJIT can optimize that, but not calls of `require`.
tidegate = {
  answer = require "tidegate.answer",
  balance = require "tidegate.balance",
  body = require "tidegate.body",
  certificate = require "tidegate.certificate",
  control = require "tidegate.control",
  ended = require "tidegate.ended",
  failed = require "tidegate.failed",
  metrics = require "tidegate.metrics",
  respond = require "tidegate.respond",
  serve = require "tidegate.serve",
  worker = require "tidegate.worker",
}

local changes = require "tidegate.changes"
local initial_table = require "tidegate.settings".initial_table
local state = ngx.shared.tidegate_state

-- nginx does not listen yet, so even the first request is served with the full table. If the table does not fit into the
-- memory, the generation stays 0: nothing is served from an incomplete table, and the agent sees it and decides.
local function load(path)
  for line in io.lines(path) do
    local ok, why = changes.make(line, 1)
    if not ok then
      assert(why == "no memory", why)
      return 0
    end
  end
  return 1
end

-- `add` fails if nginx was made to reload its configuration, for example by a signal. The dictionaries survive a reload
-- and are newer than the file.
if state:add("generation", 0) and initial_table then
  state:set("generation", load(initial_table))
end
