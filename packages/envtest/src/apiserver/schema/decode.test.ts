import { describe, expect, it } from 'vitest';
import { parseBody } from './body.ts';
import { builtinSchema } from './builtin.ts';
import { DecodeError, decode } from './decode.ts';

const decodeAs = (apiVersion: string, kind: string, fields: Record<string, unknown>) =>
  decode(
    { apiVersion, kind, metadata: { name: 'a' }, ...fields },
    { schema: builtinSchema(apiVersion, kind) },
  );

const deployment = (spec: unknown) => decodeAs('apps/v1', 'Deployment', { spec });
const pod = (spec: unknown) => decodeAs('v1', 'Pod', { spec });
const container = (fields: Record<string, unknown>) => pod({ containers: [{ name: 'a', ...fields }] });
const service = (port: unknown) => decodeAs('v1', 'Service', { spec: { ports: [port] } });
const secret = (fields: Record<string, unknown>) => decodeAs('v1', 'Secret', fields);

// All messages are recorded from kube-apiserver 1.36.
describe('wrong types', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a string for a number',
      () => deployment({ replicas: '3' }),
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a fraction',
      () => deployment({ replicas: 1.5 }),
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a large number',
      () => deployment({ replicas: 3000000000 }),
      'json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a boolean for a number',
      () => deployment({ replicas: true }),
      'json: cannot unmarshal bool into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'a string for a struct',
      () => deployment('x'),
      'json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec',
    ],
    [
      'an object for a list',
      () => deployment({ template: { spec: { containers: { a: 1 } } } }),
      'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
    ],
    [
      'a string for an item',
      () => deployment({ template: { spec: { containers: ['a'] } } }),
      'json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container',
    ],
    [
      'a number in an item',
      () => deployment({ template: { spec: { containers: [{ name: 1 }] } } }),
      'json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name of type string',
    ],
    [
      'a number for a label',
      () => decodeAs('v1', 'Pod', { metadata: { name: 'a', labels: { a: 1 } } }),
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'a list for labels',
      () => decodeAs('v1', 'Pod', { metadata: { name: 'a', labels: [1] } }),
      'json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    ],
    [
      'a number for a named string',
      () => container({ ports: [{ containerPort: 80, protocol: 1 }] }),
      'json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol',
    ],
    [
      'no quantity',
      () => container({ resources: { limits: { cpu: 'abc' } } }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'no time',
      () => decodeAs('v1', 'Pod', { metadata: { name: 'a', creationTimestamp: 'yesterday' } }),
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
    [
      'a number for a time',
      () => decodeAs('v1', 'Pod', { metadata: { name: 'a', creationTimestamp: 5 } }),
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [
      'a boolean for int-or-string',
      () => service({ port: 80, targetPort: true }),
      'json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32',
    ],
    ['no base64', () => secret({ data: { x: '???' } }), 'illegal base64 data at input byte 0'],
    [
      'a number for base64',
      () => secret({ data: { x: 5 } }),
      'json: cannot unmarshal number into Go struct field Secret.data of type []uint8',
    ],
    [
      'a string for a boolean',
      () => secret({ immutable: 'true' }),
      'json: cannot unmarshal string into Go struct field Secret.immutable of type bool',
    ],
  ])('rejects %s', (_, run, message) => {
    expect(run).toThrow(message);
  });
});

// The result of a strategic merge patch, with messages recorded from kube-apiserver 1.36.
describe('wrong types in the words of the converter', () => {
  const restore = (fields: Record<string, unknown>) =>
    decode(
      { apiVersion: 'apps/v1', kind: 'Deployment', ...fields },
      { schema: builtinSchema('apps/v1', 'Deployment'), words: 'converter' },
    );

  it.each<[Record<string, unknown>, string]>([
    [{ spec: { replicas: 'x' } }, 'unrecognized type: int32'],
    [{ spec: { replicas: 1.5 } }, 'cannot convert float64 to int32'],
    [{ spec: { paused: 1 } }, 'unrecognized type: bool'],
    [{ spec: 'x' }, 'cannot restore struct from: string'],
    [{ spec: [] }, 'cannot restore struct from: slice'],
    [{ kind: 1 }, 'cannot convert int64 to string'],
    [{ metadata: { labels: [1] } }, 'cannot restore map from slice'],
    [{ metadata: { labels: { a: true } } }, 'unrecognized type: string'],
    [{ metadata: { finalizers: 'x' } }, 'cannot restore slice from string'],
    [{ metadata: { creationTimestamp: 1 } }, 'json: cannot unmarshal number into Go value of type string'],
    [{ spec: { strategy: { type: 1 } } }, 'cannot convert int64 to v1.DeploymentStrategyType'],
    [
      { spec: { strategy: { rollingUpdate: { maxSurge: 1.5 } } } },
      'json: cannot unmarshal number 1.5 into Go value of type int32',
    ],
  ])('%j', (fields, message) => {
    expect(() => restore(fields)).toThrow(new DecodeError(message));
  });

  it('truncates numbers that are out of range', () => {
    expect(restore({ spec: { replicas: 3_000_000_000 } }).object.spec).toMatchObject({
      replicas: -1_294_967_296,
    });
  });
});

describe('output', () => {
  it('omits nulls and empty optional fields and keeps significant zeros', () => {
    const { object } = deployment({
      replicas: 0,
      paused: false,
      minReadySeconds: 0,
      selector: null,
      template: {
        metadata: { labels: {} },
        spec: { containers: [{ name: 'a', env: [], command: null }], hostNetwork: false },
      },
    });
    expect(object.spec).toEqual({
      replicas: 0,
      strategy: {},
      template: { metadata: {}, spec: { containers: [{ name: 'a', resources: {} }] } },
    });
    expect(object.status).toEqual({});
  });

  it('normalizes quantities, times and base64', () => {
    const { object } = container({ resources: { limits: { cpu: 0.5, memory: '1024Mi' } } });
    expect(object.spec).toMatchObject({
      containers: [{ resources: { limits: { cpu: '500m', memory: '1Gi' } } }],
    });
    expect(secret({ data: { x: 'YW\nJj', y: null } }).object.data).toEqual({ x: 'YWJj', y: '' });
    const lease = decodeAs('coordination.k8s.io/v1', 'Lease', {
      metadata: { creationTimestamp: '2026-01-02T03:04:05.678+01:00' },
      spec: { renewTime: '2026-01-02T03:04:05Z' },
    }).object;
    expect(lease.metadata.creationTimestamp).toBe('2026-01-02T02:04:05Z');
    expect(lease.spec).toEqual({ renewTime: '2026-01-02T03:04:05.000000Z' });
  });

  it('does not set a port that was not given', () => {
    expect(service({ port: 80 }).object.spec).toEqual({ ports: [{ port: 80 }] });
  });
});

describe('schemas inside of a CustomResourceDefinition', () => {
  const schema = (openAPIV3Schema: object) =>
    decodeAs('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
      spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema } }] },
    });

  it('are normalized below items and additionalProperties too, without reports of unknown fields', () => {
    const { object, problems } = schema({
      id: '',
      foo: 1,
      items: { id: '', foo: 1, type: 'string' },
      additionalProperties: { minLength: 0, title: '', properties: { a: { format: '' } } },
    });
    expect(object.spec).toMatchObject({
      versions: [
        {
          schema: {
            openAPIV3Schema: {
              items: { type: 'string' },
              additionalProperties: { minLength: 0, properties: { a: {} } },
            },
          },
        },
      ],
    });
    expect(JSON.stringify(object)).not.toMatch(/"(id|foo|title|format)"/);
    expect(problems).toEqual(['unknown field "spec.versions[0].schema.openAPIV3Schema.foo"']);
  });
});

describe('bodies that are not objects', () => {
  const json = (text: string) => () =>
    parseBody(text, { yaml: false, kind: 'Deployment', findDuplicates: false });
  const head = 'the object provided is unrecognized (must be of type Deployment): ';

  it.each([
    ['{"a":', `couldn't get version/kind; json parse error: unexpected end of JSON input ({"a":)`],
    [
      '{"apiVersion":"apps/v1","kind":"Deployment",}',
      `couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string ({"apiVersion":"apps/v1","kind" ...)`,
    ],
    [
      '[]',
      `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)`,
    ],
    ['', `couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`],
    [
      '{"apiVersion":1,"kind":"Pod"}',
      `couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":1,"kind":"Pod"})`,
    ],
  ])('rejects %s', (text, message) => {
    expect(json(text)).toThrow(head + message);
  });

  it('reads YAML 1.1 but keeps dates as strings', () => {
    const text = 'a: yes\nb: 010\nc: 2026-01-01\nd: 12:30:00\ne: "1"';
    const body = parseBody(text, { yaml: true, kind: 'Pod', findDuplicates: false });
    expect(body.value).toEqual({ a: true, b: 8, c: '2026-01-01', d: '12:30:00', e: '1' });
  });
});
