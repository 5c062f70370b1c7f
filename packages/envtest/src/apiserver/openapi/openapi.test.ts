import { describe, expect, it } from 'vitest';
import { definitionOf } from '../crd/definition.ts';
import { builtinResources, type ServiceAllocator } from '../resources/index.ts';
import { noHooks } from '../resources/testing.ts';
import { openApiDocument, openApiIndex } from './index.ts';

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Type> };
}
interface Operation {
  parameters: { name: string }[];
  requestBody: { content: Record<string, unknown> };
  'x-kubernetes-group-version-kind': object;
}
interface Type {
  description?: string;
  properties: Record<
    string,
    { description?: string; allOf?: object[]; anyOf?: object[]; required?: string[] }
  >;
  'x-kubernetes-group-version-kind'?: object[];
}

const definitions = builtinResources(noHooks({} as ServiceAllocator));
const pools = definitionOf({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'pools.edge.example.com' },
  spec: {
    group: 'edge.example.com',
    scope: 'Cluster',
    names: { plural: 'pools', singular: 'pool', kind: 'Pool', listKind: 'PoolList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'Pool is a set of nodes.',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { 'x-kubernetes-int-or-string': true },
                  object: { type: 'object', 'x-kubernetes-embedded-resource': true },
                },
              },
            },
          },
        },
      },
    ],
  },
});
const documentOf = (group: string, version: string): Document =>
  openApiDocument({ group, version }, [...definitions, pools], 'v1.36.4') as Document;

describe('openApiIndex', () => {
  it('lists a document for each version of a group', () => {
    const versions = [
      { group: '', version: 'v1' },
      { group: 'apps', version: 'v1' },
    ];
    expect(openApiIndex(versions, (path) => `hash-of-${path}`)).toEqual({
      paths: {
        'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=hash-of-api/v1' },
        'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=hash-of-apis/apps/v1' },
      },
    });
  });
});

describe('openApiDocument', () => {
  it('lists the supported patch types', () => {
    const patch = documentOf('apps', 'v1').paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']
      ?.patch;
    expect(patch?.parameters.map((p) => p.name)).toEqual([
      'dryRun',
      'fieldManager',
      'fieldValidation',
      'force',
    ]);
    expect(Object.keys(patch?.requestBody.content ?? {})).toContain('application/strategic-merge-patch+json');
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
    });
  });

  it('describes built-in kinds', () => {
    const { schemas } = documentOf('apps', 'v1').components;
    const deployment = schemas['io.k8s.api.apps.v1.Deployment'];
    expect(deployment?.['x-kubernetes-group-version-kind']).toEqual([
      { group: 'apps', kind: 'Deployment', version: 'v1' },
    ]);
    expect(deployment?.properties.spec).toMatchObject({
      description: 'Specification of the desired behavior of the Deployment.',
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec' }],
    });
    expect(schemas['io.k8s.api.apps.v1.DeploymentSpec']?.properties.strategy).toMatchObject({
      'x-kubernetes-patch-strategy': 'retainKeys',
    });
  });

  it('describes custom kinds with the standard fields', () => {
    const document = documentOf('edge.example.com', 'v1');
    const patch = document.paths['/apis/edge.example.com/v1/pools/{name}']?.patch;
    expect(Object.keys(patch?.requestBody.content ?? {})).not.toContain(
      'application/strategic-merge-patch+json',
    );
    expect(document.paths['/apis/edge.example.com/v1/pools/{name}/status']?.patch).toBeDefined();
    const pool = document.components.schemas['com.example.edge.v1.Pool'];
    expect(pool?.description).toBe('Pool is a set of nodes.');
    expect(Object.keys(pool?.properties ?? {})).toEqual(['spec', 'apiVersion', 'kind', 'metadata']);
    expect(pool?.properties.spec).toMatchObject({
      properties: {
        size: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
        object: { required: ['kind', 'apiVersion'], properties: { kind: { type: 'string' } } },
      },
    });
  });

  it.each([
    ['', 'v1'],
    ['apps', 'v1'],
    ['apiextensions.k8s.io', 'v1'],
    ['edge.example.com', 'v1'],
  ])('includes every schema that %s/%s references', (group, version) => {
    const document = documentOf(group, version);
    const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
    const missing = [...references]
      .map(([, name]) => name ?? '')
      .filter((name) => !(name in document.components.schemas));
    expect(missing).toEqual([]);
  });
});
