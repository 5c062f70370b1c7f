/** ValidatingAdmissionPolicies of the embedded server, as a client sees them. */
import {
  CONFIG_MAPS,
  KubeClient,
  type KubeObject,
  loadConfig,
  NAMESPACES,
  type Resource,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Embedded, startEmbedded } from '../support/embedded.ts';

const resource = (name: string): Resource<KubeObject> => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: name,
  namespaced: false,
});
const POLICIES = resource('validatingadmissionpolicies');
const BINDINGS = resource('validatingadmissionpolicybindings');

let embedded: Embedded;
let admin: KubeClient;
beforeAll(async () => {
  embedded = await startEmbedded();
  admin = new KubeClient(await loadConfig({ env: {}, path: embedded.kubeconfig }));
});
afterAll(async () => {
  await admin.close();
  await embedded.stop();
});

/** Each test has a namespace of its own, and its policy applies to this namespace only. */
let namespace: string;
let count = 0;
beforeEach(async () => {
  namespace = `policies-${++count}`;
  const metadata = { name: namespace, labels: { policies: namespace } };
  await admin.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata });
});

const enact = async (spec: object, binding: object = {}): Promise<void> => {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  await admin.create(POLICIES, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: namespace },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { policies: namespace } },
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['configmaps'],
          },
        ],
      },
      ...spec,
    },
  });
  await admin.create(BINDINGS, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `${namespace}-binding` },
    spec: { policyName: namespace, validationActions: ['Deny'], ...binding },
  });
};

const store = (name: string, data: Record<string, string>, labels = {}) =>
  admin.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels },
    data,
  });

const refused = (why: string) =>
  `ValidatingAdmissionPolicy '${namespace}' with binding '${namespace}-binding' denied request: ${why}`;

describe('a validation', () => {
  test('denies a request with its message, reason and code', async () => {
    await enact({
      validations: [
        { expression: "object.data.size == 'small'", messageExpression: "'too large: ' + object.data.size" },
        { expression: "request.operation == 'UPDATE' || object.metadata.name != 'x'", reason: 'Forbidden' },
      ],
    });
    await store('a', { size: 'small' });
    await expect(store('b', { size: 'huge' })).rejects.toMatchObject({
      message: expect.stringContaining(`configmaps "b" is forbidden: ${refused('too large: huge')}`),
      status: { code: 422, reason: 'Invalid' },
    });
    await expect(store('x', { size: 'small' })).rejects.toMatchObject({
      message: expect.stringContaining("failed expression: request.operation == 'UPDATE'"),
      status: { code: 403, reason: 'Forbidden' },
    });
  });

  test('can use variables and the namespace', async () => {
    await enact({
      variables: [
        { name: 'size', expression: 'object.data.size' },
        { name: 'isSmall', expression: "variables.size == 'small'" },
      ],
      validations: [
        { expression: 'variables.isSmall', message: 'only small ones' },
        { expression: `namespaceObject.metadata.name == '${namespace}'` },
      ],
    });
    await store('a', { size: 'small' });
    await expect(store('b', { size: 'huge' })).rejects.toThrow(refused('only small ones'));
  });

  test('that cannot be evaluated follows the failure policy', async () => {
    const validations = [{ expression: "object.data.size == 'small'" }];
    await enact({ validations });
    await expect(store('a', { other: 'x' })).rejects.toThrow(
      refused("expression 'object.data.size == 'small'' resulted in error: no such key: size"),
    );
    const patch = { spec: { failurePolicy: 'Ignore' } };
    await admin.patch(POLICIES, { name: namespace }, 'merge', patch);
    await store('a', { other: 'x' });
  });
});

describe('a policy', () => {
  test('applies only if its conditions hold, and not to excluded resources', async () => {
    await enact({
      matchConstraints: {
        namespaceSelector: { matchLabels: { policies: namespace } },
        resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] }],
        excludeResourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['*'],
            resources: ['configmaps'],
            resourceNames: ['excluded'],
          },
        ],
      },
      matchConditions: [
        { name: 'labeled', expression: "has(object.metadata.labels) && 'on' in object.metadata.labels" },
      ],
      validations: [{ expression: 'false', message: 'never' }],
    });
    await store('unlabeled', {});
    await store('excluded', {}, { on: 'yes' });
    await expect(store('labeled', {}, { on: 'yes' })).rejects.toThrow(refused('never'));
  });

  test('is evaluated with each object of its parameters', async () => {
    const param = (name: string, allowed: string) => store(name, { allowed }, { limits: 'yes' });
    await param('limits-1', 'small');
    await enact(
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [{ expression: 'has(object.data.allowed) || object.data.size == params.data.allowed' }],
      },
      { paramRef: { selector: { matchLabels: { limits: 'yes' } }, parameterNotFoundAction: 'Deny' } },
    );
    await store('a', { size: 'small' });
    await param('limits-2', 'large');
    await expect(store('b', { size: 'small' })).rejects.toThrow('failed expression');
    for (const name of ['limits-1', 'limits-2']) await admin.delete(CONFIG_MAPS, { namespace, name });
    await expect(store('c', { size: 'small' })).rejects.toThrow(
      refused('no params found for policy binding with `Deny` parameterNotFoundAction'),
    );
  });

  test('has no effect after its binding is deleted', async () => {
    await enact({ validations: [{ expression: 'false' }] });
    await expect(store('a', {})).rejects.toThrow('failed expression: false');
    await admin.delete(BINDINGS, { name: `${namespace}-binding` });
    await store('a', {});
  });

  test('is refused if an expression is not valid', async () => {
    await expect(enact({ validations: [{ expression: 'object.' }] })).rejects.toThrow(
      'spec.validations[0].expression: Invalid value: "object.": compilation failed: ERROR',
    );
  });
});

test('a binding with the action Warn admits the request with a warning', async () => {
  await enact(
    { validations: [{ expression: 'false', message: 'too bad' }] },
    { validationActions: ['Warn'] },
  );
  const warnings: unknown[] = [];
  const log = { ...silentLogger, warn: (fields: object) => warnings.push(fields) };
  const client = new KubeClient(admin.config, { log });
  await client.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace },
  });
  await client.close();
  const names = `ValidatingAdmissionPolicy '${namespace}' with binding '${namespace}-binding'`;
  expect(warnings).toEqual([{ warning: `299 - "Validation failed for ${names}: too bad"` }]);
});
