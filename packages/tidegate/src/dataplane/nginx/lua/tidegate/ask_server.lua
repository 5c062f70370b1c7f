-- Sends a request to a server that is not forwarded for the client, for example one that authenticates clients. Only the head of
-- the answer is used. Must agree with packages/tidegate/src/dataplane/embedded/ask-server.ts; tests compare the two.
local settings = require "tidegate.settings"

local find, gmatch, lower, match = string.find, string.gmatch, string.lower, string.match
local MAX_HEAD, MAX_BODY, MAX_INTERIM = settings.max_answer_head_bytes, 65536, 5

-- The status and the headers: by lower-case name, a list of values. Nil and the reason if the head is not valid.
local function parse(head)
  local status = match(head, "^HTTP/1%.[01] (%d%d%d)")
  if not status then
    return nil, "the answer is not HTTP/1"
  end
  local headers = {}
  for name, value in gmatch(head, "\n([^%s:]+):[ \t]*([^\r\n]*)") do
    if find(value, "[%z\1-\8\11-\31\127]") then
      return nil, "a header of the answer has control characters"
    end
    local key = lower(name)
    headers[key] = headers[key] or {}
    table.insert(headers[key], (match(value, "^(.-)[ \t]*$")))
  end
  return { status = tonumber(status), headers = headers }
end

local function read_head(socket)
  for _ = 1, MAX_INTERIM do
    local head, why = socket:receiveuntil("\r\n\r\n")(MAX_HEAD)
    if not head then
      return nil, why
    end
    if #head >= MAX_HEAD then
      return nil, "the head of the answer is too large"
    end
    local answer, wrong = parse(head)
    if not answer or answer.status >= 200 then
      return answer, wrong
    end
  end
  return nil, "too many interim answers"
end

-- Whether a body in chunks was read to its end.
local function read_chunks(socket)
  local left = MAX_BODY
  while left > 0 do
    local digits = match(socket:receive "*l" or "", "^%x+")
    local size = digits and tonumber(digits, 16)
    if not size or size > left then
      return false
    end
    if size == 0 then
      -- Trailers, or more often none.
      return socket:receive "*l" == ""
    end
    if not socket:receive(size + 2) then
      return false
    end
    left = left - size
  end
  return false
end

-- Whether the body was read to its end. It is not used.
local function read_body(socket, method, answer)
  if method == "HEAD" or answer.status == 204 or answer.status == 304 then
    return true
  end
  local coding = answer.headers["transfer-encoding"]
  if coding then
    return lower(coding[1]) == "chunked" and read_chunks(socket)
  end
  local length = tonumber(answer.headers["content-length"] and answer.headers["content-length"][1])
  return length ~= nil and length <= MAX_BODY and (length == 0 or socket:receive(length) ~= nil)
end

-- Keeps the connection, or closes it.
local function finish(socket, question, answer)
  local keepalive = question.keepalive
  local connection = answer.headers.connection
  local is_usable = keepalive
    and not (connection and find(lower(connection[1]), "close", 1, true))
    and (socket:getreusedtimes() or 0) + 1 < keepalive.requests
    and read_body(socket, question.method, answer)
  if is_usable then
    socket:setkeepalive(keepalive.seconds * 1000, keepalive.connections)
  else
    socket:close()
  end
end

local function connect(question, endpoint)
  local socket = ngx.socket.tcp()
  socket:settimeouts(question.connect_ms, question.read_ms, question.read_ms)
  -- Connections of different servers, names and owners are not shared.
  local pool = table.concat({ question.owner, endpoint.name, question.servername or "-" }, " ")
  local ok, why
  if endpoint.relay then
    ok, why = socket:connect(endpoint.peer, { pool = pool })
  else
    ok, why = socket:connect(endpoint.address, endpoint.port, { pool = pool })
  end
  if not ok then
    return nil, why
  end
  local reused = socket:getreusedtimes() or 0
  if question.servername and reused == 0 then
    local name = question.servername ~= "" and question.servername or nil
    local session, wrong = socket:sslhandshake(false, name, false)
    if not session then
      socket:close()
      return nil, wrong
    end
  end
  return socket, nil, reused
end

local function ask_once(question, endpoint)
  local socket, why, reused = connect(question, endpoint)
  if not socket then
    return nil, why
  end
  local sent, wrong = socket:send(question.text)
  local answer
  if sent then
    answer, wrong = read_head(socket)
  end
  if not answer then
    socket:close()
    -- The server may have closed a kept connection just now.
    return nil, wrong, reused > 0 and wrong == "closed"
  end
  finish(socket, question, answer)
  return answer
end

-- `question`: method, text (the request), servername (nil without TLS, empty without a name), owner, connect_ms, read_ms, keepalive
-- (nil: the connection is closed). Returns the answer, or nil and the reason.
return function(question, endpoint)
  local answer, why, is_stale = ask_once(question, endpoint)
  while is_stale do
    answer, why, is_stale = ask_once(question, endpoint)
  end
  return answer, why
end
