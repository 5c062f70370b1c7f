import { evaluate } from '@marcbachmann/cel-js';
import { expect, it } from 'vitest';
import { ProvisionerRegistry } from '../../ingress/provisioners/index.ts';
import { CLASS, ingress } from '../../ingress/testing/objects.ts';
import type { IngressSources } from './ingress.ts';
import { ingressStatusRule } from './ingress-status.ts';

const ingressClass = { metadata: { name: CLASS }, spec: { controller: 'tidegate.io/nginx' } };
const sources = {
  classes: { list: () => [ingressClass] },
  provisioners: new ProvisionerRegistry(),
} as unknown as IngressSources;

it('is reviewed for classes of Tidegate, and only if the annotations of the Ingress change', () => {
  const rule = ingressStatusRule(sources, () => 0);
  expect([rule.subresource, rule.operations]).toEqual(['status', ['UPDATE']]);
  const matches = (object: object, oldObject: object): boolean =>
    (rule.matchConditions?.() ?? []).every(({ expression }) => evaluate(expression, { object, oldObject }));
  const plain = ingress();
  const marked = ingress({ annotations: { 'tidegate.io/a': 'b' } });
  expect(matches({ ...plain, status: { loadBalancer: {} } }, plain)).toBe(false);
  expect(matches(marked, marked)).toBe(false);
  expect(matches(marked, plain)).toBe(true);
  expect(matches(plain, marked)).toBe(true);
  const other = { className: 'other' };
  expect(matches(ingress({ ...other, annotations: { 'tidegate.io/a': 'b' } }), ingress(other))).toBe(false);
});
