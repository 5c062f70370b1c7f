-- Several routers can share nginx and its tables. Each has a section with a number, and ports of its own that end with the
-- number. The keys of its hosts begin with the number and a colon, so that a request finds only hosts of its section.
local tables = require "tidegate.tables"

local host, known_host = tables.host, tables.known_host

local sections = {}

local prefixes, readers = {}, {}

-- The ports of both protocols begin at a multiple of 1000.
function sections.prefix(port)
  local prefix = prefixes[port]
  if prefix == nil then
    prefix = (port % 1000) .. ":"
    prefixes[port] = prefix
  end
  return prefix
end

local function reader_of(prefix)
  return {
    host = function(name, generation)
      return host(prefix .. name, generation)
    end,
    known = function(name, generation)
      return known_host(prefix .. name, generation)
    end,
  }
end

-- The functions `host` and `known_host` of the tables for requests on this port.
function sections.hosts(port)
  local reader = readers[port]
  if reader == nil then
    reader = reader_of(sections.prefix(port))
    readers[port] = reader
  end
  return reader.host, reader.known
end

-- Whether the entry of a host is the identity of the router: a client asks which router this is.
function sections.is_identity(entry)
  return entry ~= nil and entry ~= false and entry.is_identity
end

-- Whether the section has received its routes. Before that, it is unknown whether a host exists.
function sections.has_routes(port, generation)
  return host(sections.prefix(port) .. "#", generation) ~= nil
end

-- The class and the router of the section on this port; nil before the section has received its routes.
function sections.facts(port, generation)
  local entry = host(sections.prefix(port) .. "#", generation)
  return entry and entry.section
end

-- Identifies a section and its router in the counts of requests: number, class and router, separated by tabs. Another router
-- that gets the number has another text.
function sections.text(port, generation)
  local entry = host(sections.prefix(port) .. "#", generation)
  local facts = entry and entry.section
  if not facts then
    return (port % 1000) .. "\t\t"
  end
  if not entry.section_text then
    entry.section_text = (port % 1000) .. "\t" .. facts.className .. "\t" .. facts.router
  end
  return entry.section_text
end

-- Whether the text is that of a section that exists. Texts of a table of one router have no number.
function sections.exists(text, generation)
  local number = string.match(text, "^(%d+)\t")
  return number == nil or sections.text(tonumber(number), generation) == text
end

return sections
