import { describe, expect, it } from 'vitest';
import { runLua } from './testing/run-lua.ts';

const BEGIN = `
  local now = 100
  ngx.now = function() return now end
  local endpoints = require "tidegate.endpoints"
  local function upstream(balance, ...)
    local list = {}
    for i, name in ipairs { ... } do list[i] = { name = name } end
    return { turn = 0, endpoints = list, counted = balance == "leastConnections" }
  end
  local function picks(upstream, times, tried)
    local names = {}
    for i = 1, times do
      local found = endpoints.pick(upstream, tried)
      names[i] = found and found.name or "none"
    end
    return table.concat(names, " ")
  end`;

describe('endpoints.lua', () => {
  it('picks endpoints in turn', async () => {
    const script = `${BEGIN} return { picks(upstream("roundRobin", "a", "b", "c"), 7), picks(upstream("roundRobin", "a"), 2) }`;
    expect(await runLua(script)).toEqual(['a b c a b c a', 'a a']);
  });

  it('skips a failed endpoint for a while, but none if all failed', async () => {
    const script = `${BEGIN}
      local p = upstream("roundRobin", "a", "b", "c")
      endpoints.failed("b")
      local without = picks(p, 4)
      endpoints.failed("a")
      endpoints.failed("c")
      local all = picks(p, 3)
      endpoints.answered("c")
      local only = picks(p, 3)
      now = now + 11
      return { without, all, only, picks(p, 3) }`;
    expect(await runLua(script)).toEqual(['a c a c', 'a b c', 'c c c', 'a b c']);
  });

  it('doubles the back-off with each failure, until an answer resets it', async () => {
    const script = `${BEGIN}
      local p = upstream("roundRobin", "a", "b")
      local function seconds()
        endpoints.failed("b")
        endpoints.failed("b")
        local from = now
        while not picks(p, 2):find("b") do now = now + 1 end
        return tostring(now - from)
      end
      local times = { seconds(), seconds(), seconds(), seconds(), seconds(), seconds() }
      endpoints.answered("b")
      times[7] = seconds()
      return { table.concat(times, " ") }`;
    expect(await runLua(script)).toEqual(['1 2 4 8 10 10 1']);
  });

  it('never picks an endpoint twice for one request', async () => {
    const script = `${BEGIN}
      local p = upstream("roundRobin", "a", "b", "c")
      endpoints.failed("c")
      return { picks(p, 2, { "a" }), picks(p, 1, { "a", "b" }), picks(p, 1, { "a", "b", "c" }) }`;
    expect(await runLua(script)).toEqual(['b b', 'c', 'none']);
  });

  it('picks the endpoint with the fewest requests, in turn among equals', async () => {
    const script = `${BEGIN}
      local p = upstream("leastConnections", "a", "b", "c")
      local equal = picks(p, 3)
      endpoints.began("a")
      endpoints.began("a")
      endpoints.began("b")
      local least = picks(p, 2)
      endpoints.ended("a")
      endpoints.ended("a")
      endpoints.began("c")
      return { equal, least, picks(p, 2) }`;
    expect(await runLua(script)).toEqual(['a b c', 'c c', 'a a']);
  });
});
