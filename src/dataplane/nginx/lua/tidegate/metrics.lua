-- Counts what becomes of requests. Each worker for itself, without a lock; once a second it adds what is new to
-- what all have counted together.
local shared = ngx.shared
local floor = math.floor

local metrics = {}

-- Upper ends, in milliseconds, which is as exact as nginx's clock. One more is for all that take longer.
local BUCKETS = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 }
local FLUSH_SECONDS = 1
-- Pairs of host and Service. Those that come later are counted together, as `other`.
local MOST_SERIES = 2000
local NOBODY = ""

-- By milliseconds: looked up instead of searched, for every request has one.
local bucket_of = {}
do
  local bucket = 1
  for ms = 0, BUCKETS[#BUCKETS] do
    if ms > BUCKETS[bucket] then
      bucket = bucket + 1
    end
    bucket_of[ms] = bucket
  end
end

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
  local bucket = bucket_of[floor(seconds * 1000 + 0.5)] or #BUCKETS + 1
  buckets[bucket] = (buckets[bucket] or 0) + 1
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
