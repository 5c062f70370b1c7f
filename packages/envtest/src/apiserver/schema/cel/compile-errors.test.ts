import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ValidationRule } from '../types.ts';
import { compileErrors } from './compile-errors.ts';

// Rules on a string and the recorded errors of kube-apiserver 1.36.
const golden = JSON.parse(
  readFileSync(new URL('../testdata/compile-errors.json', import.meta.url), 'utf8'),
) as [rule: string, message: string][];

const errorsOf = (...rules: ValidationRule[]) =>
  compileErrors({ type: 'string', maxLength: 5, 'x-kubernetes-validations': rules }, 'spec');

describe('compileErrors', () => {
  it.each(golden)('%s', (rule, message) => {
    const bodies = errorsOf({ rule }).map(({ body }) => body);
    expect(bodies).toEqual([expect.stringMatching(/^Invalid value: \{"Rule":/)]);
    expect(bodies[0]?.endsWith(`"OptionalOldSelf":null}: ${message}`), bodies[0]).toBe(true);
  });

  it.each(['self.matches("^a+$")', 'matches(self, "a")', 'duration("1s") < duration("1m")'])(
    'accepts %s',
    (rule) => {
      expect(errorsOf({ rule })).toEqual([]);
    },
  );

  it('reports only structural errors if there are any', () => {
    const fields = errorsOf({ rule: ' ' }, { rule: 'true', messageExpression: '1' }).map((e) => e.field);
    expect(fields).toEqual(['spec.x-kubernetes-validations[0].rule']);
    expect(errorsOf({ rule: 'true', messageExpression: '1' })[0]?.body).toContain(
      'messageExpression must evaluate to a string',
    );
  });
});
