import { describe, expect, it } from 'vitest';
import type { Schema } from '../types.ts';
import { compile } from './compile.ts';
import { Budget, EXHAUSTED } from './cost.ts';
import { kubernetesEnvironment } from './environment.ts';
import { validateRules } from './rules.ts';

const program = (expression: string) =>
  compile(expression, kubernetesEnvironment().registerVariable('self', 'dyn'));
const numbers = (count: number): bigint[] => Array.from({ length: count }, (_, i) => BigInt(i));
const LIMIT = 'operation cancelled: actual cost limit exceeded';

describe('the cost of an expression', () => {
  it.each([
    ['loops inside loops', 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))', numbers(300)],
    ['loops that hide errors', 'self.exists(a, self.exists(b, self.exists(c, a + b + c < 0)))', numbers(300)],
    ['a macro with two variables', 'self.all(i, a, self.all(j, b, self.all(c, c >= 0)))', numbers(300)],
    [
      'text that grows',
      'self.map(a, a + a).map(a, a + a).all(a, a.size() > 0)',
      [...'x'.repeat(30)].map(() => 'x'.repeat(200_000)),
    ],
    [
      'searches in long text',
      'self.all(a, self.all(b, !a.contains("y") && !b.contains("y")))',
      [...'x'.repeat(40)].map(() => 'x'.repeat(50_000)),
    ],
    [
      'the length of long text',
      'self.all(a, self.all(b, a.size() + b.size() > 0))',
      [...'x'.repeat(40)].map(() => 'x'.repeat(50_000)),
    ],
    ['searches in a long list', 'self.all(a, a in self)', numbers(20_000)],
    ['comparisons of large values', 'self.all(a, self == self)', numbers(5_000)],
  ])('is limited for %s', (_, expression, self) => {
    expect(() => program(expression).evaluate({ self })).toThrow(LIMIT);
  });

  it.each([
    ['a loop', 'self.all(a, a >= 0)', numbers(50_000)],
    ['a loop inside a loop', 'self.all(a, self.exists_one(b, a == b))', numbers(200)],
    [
      'many looks at a field of a large value',
      'self.list.all(a, has(self.text.x) || self.list.size() > 0)',
      { list: numbers(5_000), text: { y: 'x'.repeat(500_000) } },
    ],
  ])('allows %s', (_, expression, self) => {
    expect(program(expression).evaluate({ self })).toBe(true);
  });

  it('is taken from a budget for several expressions', () => {
    const budget = new Budget(1000);
    const small = program('self.all(a, a >= 0)');
    small.evaluate({ self: numbers(10) }, budget);
    const once = 1000 - budget.left;
    small.evaluate({ self: numbers(10) }, budget);
    expect(1000 - budget.left).toBe(2 * once);
    expect(once).toBeGreaterThan(10);
  });
});

describe('the rules of a schema', () => {
  const items = { type: 'array', items: { type: 'integer' } };
  const schemaOf = (...rules: string[]): Schema =>
    ({
      type: 'object',
      properties: { list: { ...items, 'x-kubernetes-validations': rules.map((rule) => ({ rule })) } },
    }) as Schema;
  const object = (count: number) => ({ list: Array.from({ length: count }, (_, i) => i) }) as never;

  it('end with the first rule that costs too much', () => {
    const rule = 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))';
    expect(validateRules(object(300), schemaOf(rule, 'false'))).toMatchObject([
      {
        field: 'list',
        body: `Invalid value: "array": '${LIMIT}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`,
      },
    ]);
  });

  it('end when they cost too much together', () => {
    const rule = 'self.all(a, self.all(b, a + b >= 0))';
    const errors = validateRules(
      object(30),
      schemaOf(...Array.from({ length: 60 }, () => rule)),
      undefined,
      new Budget(100_000),
    );
    expect(errors).toMatchObject([{ field: 'list', body: `Invalid value: "array": ${EXHAUSTED}` }]);
  });
});
