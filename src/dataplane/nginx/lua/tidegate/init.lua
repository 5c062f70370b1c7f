-- Everything is read by the master, so that workers, which may be other users, need no access to the files.
require "tidegate.balance"
require "tidegate.body"
require "tidegate.certificate"
require "tidegate.control"
require "tidegate.ended"
require "tidegate.metrics"
require "tidegate.serve"
require "tidegate.worker"

ngx.shared.tidegate_state:add("generation", 0)
