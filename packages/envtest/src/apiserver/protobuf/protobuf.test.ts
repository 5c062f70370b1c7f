import { isJsonMap } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { decodeProtobuf } from './index.ts';

/** Request bodies recorded from kubectl 1.32. */
const SENT = {
  'create deployment pd --image=x --replicas=0 --port=80':
    'azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErYBCigKAnBkEgAaC2F1dGgtaGVscGVyIgAqADIAOABCAFoJCgNhcHASAnBkEnwIABILCgkKA2FwcBICcGQaYwobCgASABoAIgAqADIAOABCAFoJCgNhcHASAnBkEkQSJgoBeBIBeCoAMgoKABAAGFAiACoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA',
  "create ingress pi --class=x --rule='a.b/c*=s:http,tls=q'":
    'azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxJcCh0KAnBpEgAaC2F1dGgtaGVscGVyIgAqADIAOABCABI3EggKA2EuYhIBcRooCgNhLmISIQofCh0KAi9jEg8iDQoBcxIICgRodHRwEAAaBlByZWZpeCIBeBoCCgAaACIA',
  'create service nodeport ps --tcp=80:90':
    'azhzAAoNCgJ2MRIHU2VydmljZRJtCigKAnBzEgAaC2F1dGgtaGVscGVyIgAqADIAOABCAFoJCgNhcHASAnBzEj0KGAoFODAtOTASA1RDUBhQIgYIABBaGgAoABIJCgNhcHASAnBzGgAiCE5vZGVQb3J0OgBCAFIAWgBgAGgAGgIKABoAIgA=',
  'auth can-i get pods/log':
    'azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSQwoQCgASABoAIgAqADIAOABCABIlCiMKC2F1dGgtaGVscGVyEgNnZXQaACIAKgRwb2RzMgA6A2xvZxoICAASABoAIAAaACIA',
  'auth can-i --list':
    'azhzAAoxChdhdXRob3JpemF0aW9uLms4cy5pby92MRIWU2VsZlN1YmplY3RSdWxlc1JldmlldxInChAKABIAGgAiACoAMgA4AEIAEg0KC2F1dGgtaGVscGVyGgQYACIAGgAiAA==',
  'create token a --duration 20m --bound-object-kind=Secret --bound-object-name=sec':
    'azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIyChAKABIAGgAiACoAMgA4AEIAEhgaEwoGU2VjcmV0EgJ2MRoDc2VjIgAgsAkaBAoAEgAaACIA',
};

const sent = (command: keyof typeof SENT): Record<string, unknown> =>
  dropEmpty(decodeProtobuf(Buffer.from(SENT[command], 'base64'))) as Record<string, unknown>;

/** Removes zero values: kubectl sends unset fields as zeros, which the tests do not care about. */
function dropEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, dropEmpty(inner)] as const)
    .filter(
      ([, v]) =>
        v !== '' && v !== 0 && v !== false && v !== null && !(isJsonMap(v) && Object.keys(v).length === 0),
    );
  return Object.fromEntries(kept);
}

describe('bodies of kubectl', () => {
  it('decodes create deployment', () => {
    expect(sent('create deployment pd --image=x --replicas=0 --port=80')).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'pd', namespace: 'auth-helper', labels: { app: 'pd' } },
      spec: {
        selector: { matchLabels: { app: 'pd' } },
        template: {
          metadata: { labels: { app: 'pd' } },
          spec: { containers: [{ name: 'x', image: 'x', ports: [{ containerPort: 80 }] }] },
        },
      },
    });
    const body = Buffer.from(SENT['create deployment pd --image=x --replicas=0 --port=80'], 'base64');
    expect(decodeProtobuf(body).spec).toMatchObject({ replicas: 0 });
    expect(decodeProtobuf(body).metadata.creationTimestamp).toBeNull();
  });

  it('decodes create ingress, which has an inlined message', () => {
    expect(sent("create ingress pi --class=x --rule='a.b/c*=s:http,tls=q'").spec).toEqual({
      ingressClassName: 'x',
      tls: [{ hosts: ['a.b'], secretName: 'q' }],
      rules: [
        {
          host: 'a.b',
          http: {
            paths: [
              { path: '/c', pathType: 'Prefix', backend: { service: { name: 's', port: { name: 'http' } } } },
            ],
          },
        },
      ],
    });
  });

  it('decodes create service, which has an IntOrString', () => {
    expect(sent('create service nodeport ps --tcp=80:90').spec).toEqual({
      type: 'NodePort',
      selector: { app: 'ps' },
      ports: [{ name: '80-90', protocol: 'TCP', port: 80, targetPort: 90 }],
    });
  });

  it('decodes auth can-i and create token', () => {
    expect(sent('auth can-i get pods/log')).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace: 'auth-helper', verb: 'get', resource: 'pods', name: 'log' } },
    });
    expect(sent('auth can-i --list').spec).toEqual({ namespace: 'auth-helper' });
    expect(
      sent('create token a --duration 20m --bound-object-kind=Secret --bound-object-name=sec').spec,
    ).toEqual({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'sec' }, expirationSeconds: 1200 });
  });
});

describe('types', () => {
  const varint = (value: number | bigint): Buffer => {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    return Buffer.from([...bytes, Number(rest)]);
  };
  const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)]);
  const bytes = (field: number, ...content: (Buffer | string)[]): Buffer => {
    const whole = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
    return Buffer.concat([varint(field * 8 + 2), varint(whole.length), whole]);
  };
  const unknown = (apiVersion: string, kind: string, ...raw: Buffer[]): Buffer =>
    Buffer.concat([Buffer.from('k8s\0'), bytes(1, bytes(1, apiVersion), bytes(2, kind)), bytes(2, ...raw)]);

  it('decodes times with and without fractions', () => {
    const seconds = number(1, 1767225600);
    const event = decodeProtobuf(
      unknown('v1', 'Event', bytes(1, bytes(8, seconds)), bytes(6), bytes(10, seconds, number(2, 123456789))),
    );
    expect(event.metadata.creationTimestamp).toBe('2026-01-01T00:00:00Z');
    expect(event.firstTimestamp).toBeNull();
    expect(event.eventTime).toBe('2026-01-01T00:00:00.123456Z');
  });

  it('decodes bytes, maps, quantities, wrapped lists and JSON', () => {
    const entry = (field: number, key: string, ...value: (Buffer | string)[]): Buffer =>
      bytes(field, bytes(1, key), bytes(2, ...value));
    const secret = decodeProtobuf(
      unknown('v1', 'Secret', entry(2, 'a', '\0\x01'), entry(2, '__proto__', 'x')),
    );
    expect(Object.entries(secret.data as object)).toEqual([
      ['a', 'AAE='],
      ['__proto__', 'eA=='],
    ]);
    const pod = decodeProtobuf(unknown('v1', 'Pod', bytes(2, entry(32, 'cpu', bytes(1, '1500m')))));
    expect(pod.spec).toEqual({ overhead: { cpu: '1500m' } });
    const user = decodeProtobuf(
      unknown(
        'authorization.k8s.io/v1',
        'SubjectAccessReview',
        bytes(2, entry(5, 'scopes', bytes(1, 'a'), bytes(1, 'b'))),
      ),
    );
    expect(user.spec).toEqual({ extra: { scopes: ['a', 'b'] } });
    const revision = decodeProtobuf(
      unknown('apps/v1', 'ControllerRevision', bytes(2, bytes(1, '{"a":[1]}'))),
    );
    expect(revision.data).toEqual({ a: [1] });
  });

  it('decodes negative numbers, and strings where a number is possible', () => {
    const pod = decodeProtobuf(unknown('v1', 'Pod', bytes(2, number(25, -5))));
    expect(pod.spec).toEqual({ priority: -5 });
    const port = bytes(4, number(1, 1), number(2, 0), bytes(3, 'http'));
    const service = decodeProtobuf(unknown('v1', 'Service', bytes(2, bytes(1, port))));
    expect(service.spec).toEqual({ ports: [{ targetPort: 'http' }] });
  });

  it('ignores unknown fields', () => {
    const config = unknown('v1', 'ConfigMap', bytes(99, 'new'), number(98, 7), number(4, 1));
    expect(decodeProtobuf(config)).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', immutable: true });
  });

  it('decodes DeleteOptions in any group', () => {
    const options = unknown('apps/v1', 'DeleteOptions', number(1, 0), bytes(4, 'Foreground'));
    expect(decodeProtobuf(options)).toMatchObject({ gracePeriodSeconds: 0, propagationPolicy: 'Foreground' });
  });

  it('rejects a body that it cannot decode, and reports why', () => {
    expect(() => decodeProtobuf(Buffer.from('{"kind":"Pod"}'))).toThrow(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
    expect(() => decodeProtobuf(unknown('shop.example.com/v1', 'Widget'))).toThrow(
      'Widget in shop.example.com/v1 is not supported in protobuf; send it as application/json',
    );
    const cut = unknown('v1', 'ConfigMap', bytes(1, bytes(1, 'name')));
    expect(() => decodeProtobuf(cut.subarray(0, -2))).toThrow(
      'the protobuf body cannot be read: unexpected end of a field',
    );
  });
});
