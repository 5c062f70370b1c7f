import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compilePattern, groupOf, MAX_STEPS, runPattern } from '../../ingress/regex/index.ts';
import { runLua } from './testing/run-lua.ts';

const SCRIPT = `
local pattern = require "tidegate.pattern"
local results = {}
for i, case in ipairs(input) do
  local steps = { left = 1000 }
  local slots = pattern.run(pattern.prepare(case.pattern), case.text, steps)
  if slots then
    local groups = {}
    for number = 1, 3 do groups[number] = pattern.group(slots, number, case.text) end
    results[i] = table.concat(groups, "|") .. " " .. steps.left
  else
    results[i] = steps.left
  end
end
return results
`;

const part = fc.constantFrom(
  'a',
  'b*',
  '(a|b)',
  '(.*)',
  '[^/]+?',
  '/',
  '\\.',
  'b{1,2}',
  '$',
  '\\b',
  '\\B',
  '(a?)*',
  '|',
  '\\d',
);
const anyPattern = fc
  .tuple(fc.constantFrom('^', ''), fc.array(part, { maxLength: 6 }))
  .map(([start, parts]) => start + parts.join(''));
const anyText = fc
  .array(fc.constantFrom('a', 'b', 'B', '/', '.', '1'), { maxLength: 9 })
  .map((all) => all.join(''));

it('pattern.lua agrees with the reference, also in the number of steps', async () => {
  const cases = fc
    .sample(fc.tuple(anyPattern, anyText), { seed: 7, numRuns: 3_000 })
    .map(([pattern, text]) => ({ pattern: compilePattern(pattern, new Set([1, 2, 3])), text }));
  const expected = cases.map(({ pattern, text }) => {
    const steps = { left: 1000 };
    const slots = runPattern(pattern, text, steps);
    if (slots === undefined) return steps.left;
    return `${[1, 2, 3].map((number) => groupOf(slots, number, text)).join('|')} ${steps.left}`;
  });
  expect(await runLua(SCRIPT, cases)).toEqual(expected);
});

it('pattern.lua has the same limit', async () => {
  expect(await runLua('return require("tidegate.pattern").MAX_STEPS')).toBe(MAX_STEPS);
});
