-- Everything is read by the master, so that workers, which may be other users, need no access to the files. What each
-- request calls is in a global: the compiler can see through that, and not through `require`.
tidegate = {
  answer = require "tidegate.answer",
  balance = require "tidegate.balance",
  body = require "tidegate.body",
  certificate = require "tidegate.certificate",
  control = require "tidegate.control",
  ended = require "tidegate.ended",
  metrics = require "tidegate.metrics",
  serve = require "tidegate.serve",
  worker = require "tidegate.worker",
}

local changes = require "tidegate.changes"
local first = require "tidegate.settings".first
local state = ngx.shared.tidegate_state

-- Nobody listens yet: not even the first request is answered by less. When it does not fit nothing is known, and the
-- agent, which sees that, decides what to do.
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

-- Twice only if somebody had nginx read its configuration again: then what is known is newer.
if state:add("generation", 0) and first then
  state:set("generation", load(first))
end
