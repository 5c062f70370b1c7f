import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { customResourceDefinitions, type Schema } from '../../api/index.ts';
import type { AdmissionRequest } from '../review.ts';
import { CHECKS, schemaProblems, schemasOf } from './schema-rules.ts';

function* rulesIn(schema: Schema): Generator<string> {
  for (const { rule } of schema['x-kubernetes-validations'] ?? []) yield rule;
  const below = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  for (const each of below) if (each !== undefined) yield* rulesIn(each);
}

const RULES = new Set(
  customResourceDefinitions().flatMap(({ metadata }) => {
    const [resource = '', ...group] = `${metadata.name}`.split('.');
    const schemas = schemasOf({ resource, group: group.join('.') });
    return [...(schemas?.values() ?? [])].flatMap((schema) => [...rulesIn(schema)]);
  }),
);

/** Objects with the fields that rules read, each present or not, with values that matter and others. */
const labels = fc.dictionary(
  fc.constantFrom('', 'a', 'apps.kubeedge.io/belonging-to', 'apps.openyurt.io/nodepool'),
  fc.constantFrom('', 'x'),
);
const images = fc.constantFrom('', 'one', 'two');
const self = fc.record(
  {
    metadata: fc.record({ name: fc.constantFrom('a', 'b'.repeat(63), 'c'.repeat(64)) }),
    path: fc.constantFrom('/spec', 'spec', ''),
    controller: fc.constantFrom('tidegate.io/a', 'kubernetes.io/b', 'a.tidegate.io/c', 'tidegate.io', ''),
    operator: fc.constantFrom('add', 'remove'),
    value: fc.constantFrom('', 'x'),
    labelSelector: fc.record(
      { matchLabels: labels, matchExpressions: fc.constant([]) },
      { requiredKeys: [] },
    ),
    host: fc.constantFrom('a', 'b'),
    ingressClassName: fc.constantFrom('gold', 'silver'),
    sharedWith: fc.subarray(['gold', 'silver']),
    matchLabels: labels,
    labels,
    kind: fc.constantFrom('Namespace', 'Ingress'),
    name: fc.constantFrom('', 'a'),
    type: fc.constantFrom('Cloud', 'Edge'),
    hostNetwork: fc.boolean(),
    interConnectivity: fc.boolean(),
    leaderElectionStrategy: fc.constantFrom('mark', 'random'),
    leaderNodeLabelSelector: labels,
    ingress_ips: fc.subarray(['192.0.2.1', '192.0.2.2']),
    ingressIPs: fc.subarray(['192.0.2.1', '192.0.2.2']),
    ingress_controller_replicas_per_pool: fc.constantFrom(1, 2),
    ingressControllerReplicasPerPool: fc.constantFrom(1, 2),
    ingress_controller_image: images,
    ingressControllerImage: images,
    ingress_webhook_certgen_image: images,
    ingressWebhookCertGenImage: images,
  },
  // Schemas require these.
  {
    requiredKeys: ['metadata', 'path', 'controller', 'operator', 'host', 'ingressClassName', 'kind', 'type'],
  },
);

describe('the rules of the schemas', () => {
  it('all have a function, and there is no other function', () => {
    expect(new Set(Object.keys(CHECKS))).toEqual(RULES);
  });

  it.each([...RULES])('agrees with CEL: %s', (rule) => {
    const environment = new Environment({ homogeneousAggregateLiterals: false })
      .registerVariable('self', 'dyn')
      .registerVariable('oldSelf', 'dyn');
    const evaluate = environment.parse(rule);
    // This rule is for a map of labels, the others are for objects.
    const values = rule === "!('' in self)" ? labels : self;
    fc.assert(
      fc.property(values, values, (now, before) => {
        const checked = CHECKS[rule]?.(now, before);
        expect(checked).toBe(evaluate({ self: now, oldSelf: before }));
      }),
    );
  });

  const schemas = schemasOf({ group: 'apps.openyurt.io', resource: 'nodepools' })!;
  const review = (spec: object, old?: object, more: object = {}): AdmissionRequest => ({
    uid: '1',
    kind: { group: 'apps.openyurt.io', version: 'v1beta2', kind: 'NodePool' },
    resource: { group: 'apps.openyurt.io', version: 'v1beta2', resource: 'nodepools' },
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'admin' },
    object: {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'a', ...more },
      spec,
    },
    oldObject: old && {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'a' },
      spec: old,
    },
  });

  it('reports the field and the message of the schema', () => {
    expect(schemaProblems(schemas, review({ type: 'Edge' }, { type: 'Cloud' }))).toEqual([
      { path: 'spec', message: 'type is immutable: create another pool and move the nodes to it' },
    ]);
    expect(schemaProblems(schemas, review({ type: 'Edge' }))).toEqual([]);
    expect(schemaProblems(schemas, review({ type: 'Edge' }, undefined, { name: 'a'.repeat(64) }))).toEqual([
      { path: 'metadata.name', message: expect.stringContaining('63 characters') },
    ]);
  });

  it('allows changes of everything but the spec, also while the object is being deleted', () => {
    const invalid = { type: 'Cloud', hostNetwork: true };
    expect(schemaProblems(schemas, review(invalid))).toHaveLength(1);
    expect(schemaProblems(schemas, review(invalid, invalid, { labels: { a: 'b' } }))).toEqual([]);
    const leaving = { deletionTimestamp: 'now' };
    expect(schemaProblems(schemas, review(invalid, invalid, leaving))).toEqual([]);
    expect(schemaProblems(schemas, review(invalid, { type: 'Cloud' }, leaving))).toHaveLength(2);
  });
});
