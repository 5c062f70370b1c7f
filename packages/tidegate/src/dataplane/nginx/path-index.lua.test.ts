import { expect, it } from 'vitest';
import { runLua } from './testing/run-lua.ts';

/** For each request, how many rules a lookup asks for. */
const SCRIPT = `
  local path_index = require "tidegate.path_index"
  local reads = {}
  for i, path in ipairs(input.paths) do
    reads[i] = { path = path, rule = { number = i } }
  end
  table.sort(reads, function(a, b) return #a.path > #b.path end)
  local index = path_index.new(reads)
  local result = {}
  for i, path in ipairs(input.requests) do
    local asked = 0
    path_index.find(index, path, function() asked = asked + 1 return not input.refuses end)
    result[i] = asked
  end
  return result`;

it('asks for few rules, however many there are', async () => {
  const paths = Array.from({ length: 5_000 }, (_, at) => `/p${at}/x`);
  expect(await runLua(SCRIPT, { paths, requests: ['/p77/x/y', '/q', '/p7'] })).toEqual([1, 0, 0]);
});

it('keeps one of the rules that are read as the same path', async () => {
  const paths = Array.from({ length: 5_000 }, () => '/a');
  expect(await runLua(SCRIPT, { paths, requests: ['/a/b'], refuses: true })).toEqual([1]);
});

it('asks for no rule between nested paths', async () => {
  const paths = Array.from({ length: 2_000 }, (_, at) => '/a'.repeat(at + 1));
  const requests = ['/a'.repeat(1_500), `${'/a'.repeat(1_500)}b`, '/ab'];
  expect(await runLua(SCRIPT, { paths, requests })).toEqual([1, 1, 0]);
});
