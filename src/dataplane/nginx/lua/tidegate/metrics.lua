-- Counts what becomes of requests. Each worker for itself, without a lock; a few times a second it adds what is new to
-- what all have counted together.
local shared = ngx.shared

local metrics = {}

-- In seconds. The last is all that take longer.
local BUCKETS = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, math.huge }
local FLUSH_SECONDS = 0.2
-- Pairs of host and Service. Those that come later are counted together, as `other`.
local MOST_SERIES = 2000
local NOBODY = ""

-- host -> Service -> counts
local by_host, changed = {}, {}

local function new_counts(host, service)
  return { host = host, service = service, dirty = false, codes = {}, buckets = {}, errors = {}, seconds = 0 }
end

local function counts_of(host, pool)
  local name, service = host and host.host or NOBODY, pool and pool.label or NOBODY
  local services = by_host[name]
  if services == nil then
    services = {}
    by_host[name] = services
  end
  local counts = services[service]
  if counts == nil then
    counts = new_counts(name, service)
    services[service] = counts
  end
  if not counts.dirty then
    counts.dirty = true
    changed[#changed + 1] = counts
  end
  return counts
end

function metrics.ended(host, pool, code, seconds)
  local counts = counts_of(host, pool)
  local codes, buckets = counts.codes, counts.buckets
  codes[code] = (codes[code] or 0) + 1
  local i = 1
  while seconds > BUCKETS[i] do
    i = i + 1
  end
  buckets[i] = (buckets[i] or 0) + 1
  counts.seconds = counts.seconds + seconds
end

function metrics.failed(host, pool, kind)
  local errors = counts_of(host, pool).errors
  errors[kind] = (errors[kind] or 0) + 1
end

-- Where a pair is counted. Whoever is the first to see it takes a number.
local function place_of(dict, counts)
  local place = "\t" .. counts.host .. "\t" .. counts.service .. "\t"
  if dict:get("known" .. place) then
    return place
  end
  if dict:incr("series", 1, 0) > MOST_SERIES then
    return "\tother\tother\t"
  end
  dict:safe_add("known" .. place, true)
  return place
end

local function add_all(dict, prefix, numbers)
  for name, number in pairs(numbers) do
    dict:incr(prefix .. name, number, 0)
    numbers[name] = nil
  end
end

function metrics.flush()
  local dict = shared.tidegate_metrics
  local list = changed
  changed = {}
  for i = 1, #list do
    local counts = list[i]
    counts.place = counts.place or place_of(dict, counts)
    add_all(dict, "code" .. counts.place, counts.codes)
    add_all(dict, "bucket" .. counts.place, counts.buckets)
    add_all(dict, "error" .. counts.place, counts.errors)
    dict:incr("seconds" .. counts.place, counts.seconds, 0)
    counts.seconds, counts.dirty = 0, false
  end
end

function metrics.start()
  return ngx.timer.every(FLUSH_SECONDS, metrics.flush)
end

-- One count a line: what, host, Service, which, number; separated by tabs.
function metrics.print()
  metrics.flush()
  local dict = shared.tidegate_metrics
  local lines = {}
  for _, key in ipairs(dict:get_keys(0)) do
    local value = dict:get(key)
    if type(value) == "number" then
      lines[#lines + 1] = key .. "\t" .. value
    end
  end
  ngx.say(table.concat(lines, "\n"))
end

return metrics
