-- Answers of our own. They name nothing of what is behind.
local TEXTS = {
  [404] = "not found\n",
  [408] = "request timeout\n",
  [413] = "request body too large\n",
  [500] = "internal error\n",
  [502] = "bad gateway\n",
  [503] = "service unavailable\n",
  [504] = "gateway timeout\n",
}

return function(status, location)
  local text = TEXTS[status] or location and "\n" or "bad request\n"
  -- What the client still sends is not its next request.
  ngx.req.discard_body()
  local header = ngx.header
  ngx.status = status
  header["Content-Type"] = "text/plain; charset=utf-8"
  header["Content-Length"] = #text
  header["Server"] = "tidegate"
  header["X-Content-Type-Options"] = "nosniff"
  header["Location"] = location
  ngx.print(text)
  return ngx.exit(ngx.OK)
end
