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

ngx.shared.tidegate_state:add("generation", 0)
