import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { convertManifests } from './convert.ts';
import { parseManifests } from './manifest-file.ts';

const POOLS = `# Our sites
apiVersion: apps.openyurt.io/v1alpha1
kind: NodePool
metadata:
  name: hangzhou
spec:
  type: Edge
  selector: { matchLabels: { site: hz } }
  annotations: { answer: "yes" }
---
# Left alone, comments too
apiVersion: v1
kind: ConfigMap
metadata:
  name: other # as it was
data: { on: "off" }
`;

function convert(text: string, version?: string): { yaml: string; objects: unknown[]; notes: string[] } {
  const notes: string[] = [];
  const yaml = convertManifests(parseManifests(text, 'pools.yaml'), version, (note) => notes.push(note));
  const objects = parseAllDocuments(yaml, { version: '1.1' }).map((document) => document.toJS() as unknown);
  return { yaml, objects, notes };
}

describe('tidegate convert', () => {
  it('converts to the newest version, and prints other kinds unchanged', () => {
    const { yaml, objects, notes } = convert(POOLS);
    expect(objects[0]).toMatchObject({
      apiVersion: 'apps.openyurt.io/v1beta2',
      spec: { type: 'Edge', annotations: { answer: 'yes' } },
    });
    expect(yaml.slice(yaml.indexOf('---\n') + 4)).toBe(POOLS.slice(POOLS.indexOf('---\n') + 4));
    expect(notes).toEqual(['ConfigMap other has only one version; printed unchanged']);
  });

  it.each(['e1', 'E10', '-e3', '.', '.e1'])('reads %s as kubectl does, which is not a number', (name) => {
    const { objects } = convert(`
apiVersion: apps.openyurt.io/v1alpha1
kind: NodePool
metadata: { name: ${name}, annotations: { size: "1e1" } }
spec: { type: Edge }
`);
    expect(objects).toMatchObject([{ metadata: { name } }]);
    expect(
      parseManifests('{ kind: K, apiVersion: v1, a: [1e1, .5, 1., -2.5E3] }', 'f')[0]?.object,
    ).toMatchObject({
      a: [10, 0.5, 1, -2500],
    });
  });

  it('restores the object when it is converted back', () => {
    const there = convert(POOLS, 'v1beta1');
    expect(there.objects[0]).toMatchObject({ apiVersion: 'apps.openyurt.io/v1beta1' });
    expect(convert(there.yaml, 'v1alpha1').objects).toEqual(convert(POOLS, 'v1alpha1').objects);
  });

  it('converts an IngressClass with a provisioner to a class and its parameters', () => {
    const { objects } = convert(`
apiVersion: network.k8s.io/v1
kind: IngressClass
metadata:
  name: standard
  namespace: default
  annotations:
    ingressclass.kubernetes.io/is-default-class: "true"
provisioner: kubernetes.io/gce
parameters:
  type: standard-https
---
{ apiVersion: network.k8s.io/v1, kind: IngressClass, metadata: { name: plain }, provisioner: kubernetes.io/nginx }
`);
    const parameters = {
      apiGroup: 'networking.tidegate.io',
      kind: 'IngressClassParameters',
      name: 'standard',
    };
    expect(objects).toEqual([
      {
        apiVersion: 'networking.tidegate.io/v1alpha1',
        kind: 'IngressClassParameters',
        metadata: { name: 'standard', namespace: 'tidegate-system' },
        parameters: { type: 'standard-https' },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IngressClass',
        metadata: {
          name: 'standard',
          annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' },
        },
        spec: { controller: 'kubernetes.io/gce', parameters: { ...parameters, scope: 'Cluster' } },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IngressClass',
        metadata: { name: 'plain' },
        spec: { controller: 'kubernetes.io/nginx' },
      },
    ]);
  });

  it('converts an Ingress of extensions/v1beta1', () => {
    const { objects } = convert(`
apiVersion: extensions/v1beta1
kind: Ingress
metadata:
  name: test
spec:
  backend: { serviceName: rest, servicePort: http }
  rules:
    - host: www.example.com
      http:
        paths:
          - backend:
              serviceName: s1
              servicePort: 80
`);
    const http = {
      paths: [
        { pathType: 'ImplementationSpecific', backend: { service: { name: 's1', port: { number: 80 } } } },
      ],
    };
    expect(objects).toEqual([
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: { name: 'test' },
        spec: {
          defaultBackend: { service: { name: 'rest', port: { name: 'http' } } },
          rules: [{ host: 'www.example.com', http }],
        },
      },
    ]);
  });

  it('converts the items of a list', () => {
    const pool = '{ apiVersion: apps.openyurt.io/v1beta1, kind: NodePool, metadata: { name: a } }';
    const { objects } = convert(`{ apiVersion: v1, kind: List, items: [${pool}] }`);
    expect(objects).toMatchObject([{ kind: 'List', items: [{ apiVersion: 'apps.openyurt.io/v1beta2' }] }]);
  });

  it.each([
    ['invalid YAML', 'kind: [', undefined, /^pools\.yaml, line 1: /],
    [
      'a document that is not an object',
      'apiVersion: v1\nkind: Pod\n---\n- x\n',
      undefined,
      /^pools\.yaml, line 3: not a Kubernetes object/,
    ],
    [
      'an unknown version',
      POOLS,
      'v2',
      /^NodePool has no version v2; supported versions: v1alpha1, v1beta1, v1beta2$/,
    ],
    [
      'a damaged annotation',
      'apiVersion: apps.openyurt.io/v1beta1\nkind: NodePool\n' +
        'metadata: { name: p, annotations: { nodepool.tidegate.io/other-version-fields: "{" } }',
      undefined,
      /^NodePool p: the annotation nodepool\.tidegate\.io\/other-version-fields is not valid JSON .*; remove the annotation$/,
    ],
  ])('rejects %s', (_, text, version, message) => {
    expect(() => convert(text, version)).toThrow(message);
  });
});
