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
local OTHER_PLACE = "\tother\tother\t"
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

local function new_counts(host, service)
  return { host = host, service = service, seconds = 0, errors = {}, dirty = false, place = false }
end

-- host -> Service -> counts: of buckets by their number, of codes by the code, which is always higher.
local by_host, known, changed = {}, 0, {}
local NO_ROOM = {}
local other = new_counts("other", "other")
other.place = OTHER_PLACE

-- Without a host: of those that nobody has.
local NO_HOST = { host = NOBODY }

-- Not only the room is limited by this, but also what has to be added up each time.
local function new_series(services, host, service)
  if known >= MOST_SERIES then
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
    -- There is no room for any: they need not have a table each.
    if known >= MOST_SERIES then
      return NO_ROOM
    end
    services = {}
    by_host[name] = services
  end
  return services
end

-- The host remembers where its requests are counted.
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
  local service = upstream and upstream.label or NOBODY
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

-- Where a pair is counted. Whoever is the first to see it takes a number.
local function place_of(dict, counts)
  local place = "\t" .. counts.host .. "\t" .. counts.service .. "\t"
  if dict:get("known" .. place) then
    return place
  end
  if dict:incr("series", 1, 0) > MOST_SERIES then
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

-- One count a line: what, host, Service, which, number; separated by tabs. And how much room there is, by dictionary.
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
