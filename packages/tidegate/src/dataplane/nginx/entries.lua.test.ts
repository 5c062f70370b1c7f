import { describe, expect, it } from 'vitest';
import { runLua } from './testing/run-lua.ts';

const BEGIN = `
  local dict = ngx.shared.tidegate_hosts
  local decoded = 0
  local get = require "tidegate.entries".new(dict, function(text, before)
    decoded = decoded + 1
    return { text = text, before = before and before.text }
  end)`;

describe('entries.lua', () => {
  it('reads a key again only in a new generation, and decodes it only if its version changed', async () => {
    const script = `${BEGIN}
      dict:set("a", "one", 0, 1)
      local first = get("a", 1).text
      dict:set("a", "two", 0, 2)
      local unseen = get("a", 1).text
      local second = get("a", 2)
      get("a", 3)
      get("a", 3)
      return { first, unseen, second.text, second.before, decoded }`;
    expect(await runLua(script)).toEqual(['one', 'one', 'two', 'one', 2]);
  });

  it('forgets deleted keys, and caches no missing ones', async () => {
    const script = `${BEGIN}
      local never = get("a", 1) == nil
      dict:set("a", "one", 0, 1)
      local at_once = get("a", 1).text
      dict:delete("a")
      return { never, at_once, get("a", 2) == nil, get("a", 2) == nil }`;
    expect(await runLua(script)).toEqual([true, 'one', true, true]);
  });

  it('keeps entries that are in use, however many others there are', async () => {
    const script = `${BEGIN}
      dict:set("often", "x", 0, 1)
      for i = 1, 100000 do
        get("often", 1)
        local key = "k" .. i % 40000
        dict:safe_set(key, "x", 0, 1)
        get(key, 1)
      end
      decoded = 0
      get("often", 1)
      return decoded`;
    expect(await runLua(script)).toBe(0);
  });
});
