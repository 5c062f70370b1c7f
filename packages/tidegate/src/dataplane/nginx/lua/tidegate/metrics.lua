-- Counts requests. Each worker counts in its own memory without locks, and adds its counts to a shared dictionary once a
-- second. Names, help and labels of the metrics are in traffic-metrics.ts; this module only counts.
local sections = require "tidegate.sections"
local settings = require "tidegate.settings"
local tables = require "tidegate.tables"

local shared = ngx.shared
local floor = math.floor

local metrics = {}

-- Upper bounds in milliseconds. One more bucket holds everything above the last bound.
local BUCKETS = settings.duration_buckets_ms
local FLUSH_SECONDS = 1
local MAX_SERIES = settings.max_series
local OTHER = settings.other_series
local NONE = ""
-- A table of one router: see `sections.text`.
local ONE_ROUTER = "\t\t"

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

local function place_in(section, host, service)
  return "\t" .. section .. "\t" .. host .. "\t" .. service .. "\t"
end

local function new_counts(section, host, service)
  return { section = section, host = host, service = service, seconds = 0, errors = {}, dirty = false, place = false }
end

-- Section -> host -> Service -> counts. Within counts, small numbers are buckets and larger ones are status codes.
local by_section, known, changed = {}, 0, {}

local function section_of(text)
  local section = by_section[text]
  if section == nil then
    local other = new_counts(text, OTHER, OTHER)
    other.place = place_in(text, OTHER, OTHER)
    section = { text = text, hosts = {}, known = 0, other = other }
    by_section[text] = section
  end
  return section
end

-- The limit bounds the memory, and also the time that each flush and scrape takes. It is common to all sections.
local function new_series(services, host, service)
  local section = services.section
  if known >= MAX_SERIES then
    return section.other
  end
  known, section.known = known + 1, section.known + 1
  local counts = new_counts(section.text, host, service)
  services.counts[service] = counts
  return counts
end

local function services_of(section, name)
  local services = section.hosts[name]
  if services == nil then
    services = { section = section, counts = {} }
    -- The limit is reached: such hosts are not remembered.
    if known < MAX_SERIES then
      section.hosts[name] = services
    end
  end
  return services
end

-- The counts of a host and an upstream; without a host, those of requests that match none. The host remembers its Services.
-- `section` is the text of a section; nil for a table of one router.
function metrics.counts_of(host, upstream, section)
  local services = host and host.counts
  if not services then
    services = services_of(section_of(section or ONE_ROUTER), host and host.host or NONE)
    if host then
      host.counts = services
    end
  end
  local service = upstream and upstream.label or NONE
  return services.counts[service] or new_series(services, host and host.host or NONE, service)
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
  local place = place_in(counts.section, counts.host, counts.service)
  if dict:get("known" .. place) then
    return place
  end
  if dict:incr("series", 1, 0) > MAX_SERIES then
    return place_in(counts.section, OTHER, OTHER)
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

local pruned = 0

-- Forgets sections whose router has left.
local function prune(generation)
  if generation == pruned then
    return
  end
  pruned = generation
  for text, section in pairs(by_section) do
    if not sections.exists(text, generation) then
      known = known - section.known
      by_section[text] = nil
    end
  end
end

-- Adds the counts of this worker to the shared dictionary, and resets them. Those of routers that have left are dropped.
function metrics.flush()
  local generation = tables.generation()
  prune(generation)
  local dict = shared.tidegate_metrics
  local list = changed
  changed = {}
  for i = 1, #list do
    local counts = list[i]
    if sections.exists(counts.section, generation) then
      counts.place = counts.place or place_of(dict, counts)
      add_numbered(dict, counts)
      add(dict, "error", counts, counts.errors)
      dict:incr("seconds" .. counts.place, counts.seconds, 0)
    end
    counts.seconds, counts.dirty = 0, false
  end
end

function metrics.start()
  return ngx.timer.every(FLUSH_SECONDS, metrics.flush)
end

-- Removes the counts of sections whose router has left. A key has its section after the first tab.
local function remove_left(dict, keys)
  local generation = tables.generation()
  for _, key in ipairs(keys) do
    local what, section = string.match(key, "^(%l+)\t(%d+\t[^\t]*\t[^\t]*)\t")
    if section and not sections.exists(section, generation) then
      dict:delete(key)
      if what == "known" then
        dict:incr("series", -1, 0)
      end
    end
  end
end

-- Prints one count per line: kind, section, class, router, host, Service, label value, number, separated by tabs; and the free
-- memory of each dictionary. The agent formats it for Prometheus (traffic.ts).
function metrics.print()
  metrics.flush()
  local dict = shared.tidegate_metrics
  local lines = {}
  for _, name in ipairs { "hosts", "upstreams", "certificates" } do
    lines[#lines + 1] = "free\t\t\t\t\t\t" .. name .. "\t" .. shared["tidegate_" .. name]:free_space()
  end
  local keys = dict:get_keys(0)
  remove_left(dict, keys)
  for _, key in ipairs(keys) do
    local value = dict:get(key)
    if type(value) == "number" then
      lines[#lines + 1] = key .. "\t" .. value
    end
  end
  ngx.say(table.concat(lines, "\n"))
end

return metrics
