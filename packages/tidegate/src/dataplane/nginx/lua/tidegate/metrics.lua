-- Counts requests. Each worker counts in its own memory without locks, and adds its counts to a shared dictionary once a
-- second. Names, help and labels of the metrics are in traffic-metrics.ts; this module only counts.
local settings = require "tidegate.settings"

local shared = ngx.shared
local floor = math.floor

local metrics = {}

-- Upper bounds in milliseconds. One more bucket holds everything above the last bound.
local BUCKETS = settings.duration_buckets_ms
local FLUSH_SECONDS = 1
local MAX_SERIES = settings.max_series
local OTHER = settings.other_series
local OTHER_PLACE = "\t" .. OTHER .. "\t" .. OTHER .. "\t"
local NONE = ""

-- The bucket for each millisecond: a lookup is faster than a search, and every request needs one.
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

local function new_counts(host, service)
  return { host = host, service = service, seconds = 0, errors = {}, dirty = false, place = false }
end

-- host -> Service -> counts. Within counts, small numbers are buckets and larger ones are status codes.
local by_host, known, changed = {}, 0, {}
local NO_ROOM = {}
local other = new_counts(OTHER, OTHER)
other.place = OTHER_PLACE

-- For requests that match no host.
local NO_HOST = { host = NONE }

-- The limit bounds the memory, and also the time that each flush and scrape takes.
local function new_series(services, host, service)
  if known >= MAX_SERIES then
    return other
  end
  known = known + 1
  local counts = new_counts(host, service)
  services[service] = counts
  return counts
end

local function services_of(name)
  local services = by_host[name]
  if services == nil then
    -- The limit is reached: such hosts share one empty table.
    if known >= MAX_SERIES then
      return NO_ROOM
    end
    services = {}
    by_host[name] = services
  end
  return services
end

-- The counts of a host and an upstream. The host remembers its table of Services.
function metrics.counts_of(host, upstream)
  host = host or NO_HOST
  local services = host.counts
  if services == nil then
    services = services_of(host.host)
    host.counts = services
  end
  if services == NO_ROOM then
    return other
  end
  local service = upstream and upstream.label or NONE
  return services[service] or new_series(services, host.host, service)
end

local function count(counts, what)
  counts[what] = (counts[what] or 0) + 1
  if not counts.dirty then
    counts.dirty = true
    changed[#changed + 1] = counts
  end
end

function metrics.ended(counts, code, seconds)
  local bucket = bucket_of[floor(seconds * 1000 + 0.5)] or #BUCKETS + 1
  counts.seconds = counts.seconds + seconds
  count(counts, bucket)
  count(counts, code)
end

function metrics.failed(counts, kind)
  local errors = counts.errors
  errors[kind] = (errors[kind] or 0) + 1
end

-- The key prefix of a series in the shared dictionary. The first worker that sees a series reserves a place for it; beyond
-- the limit, it is counted under OTHER.
local function place_of(dict, counts)
  local place = "\t" .. counts.host .. "\t" .. counts.service .. "\t"
  if dict:get("known" .. place) then
    return place
  end
  if dict:incr("series", 1, 0) > MAX_SERIES then
    return OTHER_PLACE
  end
  dict:safe_add("known" .. place, true)
  return place
end

local function add(dict, what, counts, numbers)
  for name, number in pairs(numbers) do
    dict:incr(what .. counts.place .. name, number, 0)
    numbers[name] = nil
  end
end

local function add_numbered(dict, counts)
  for key, number in pairs(counts) do
    if type(key) == "number" then
      local what = key > #BUCKETS + 1 and "code" or "bucket"
      dict:incr(what .. counts.place .. key, number, 0)
      counts[key] = nil
    end
  end
end

-- Adds the counts of this worker to the shared dictionary, and resets them.
function metrics.flush()
  local dict = shared.tidegate_metrics
  local list = changed
  changed = {}
  for i = 1, #list do
    local counts = list[i]
    counts.place = counts.place or place_of(dict, counts)
    add_numbered(dict, counts)
    add(dict, "error", counts, counts.errors)
    dict:incr("seconds" .. counts.place, counts.seconds, 0)
    counts.seconds, counts.dirty = 0, false
  end
end

function metrics.start()
  return ngx.timer.every(FLUSH_SECONDS, metrics.flush)
end

-- Prints one count per line: kind, host, Service, label value, number, separated by tabs; and the free memory of each
-- dictionary. The agent formats it for Prometheus (traffic.ts).
function metrics.print()
  metrics.flush()
  local dict = shared.tidegate_metrics
  local lines = {}
  for _, name in ipairs { "hosts", "upstreams", "certificates" } do
    lines[#lines + 1] = "free\t\t\t" .. name .. "\t" .. shared["tidegate_" .. name]:free_space()
  end
  for _, key in ipairs(dict:get_keys(0)) do
    local value = dict:get(key)
    if type(value) == "number" then
      lines[#lines + 1] = key .. "\t" .. value
    end
  end
  ngx.say(table.concat(lines, "\n"))
end

return metrics
