import { beforeAll, describe, expect, it } from 'vitest';
import { definitionOf } from '../crd/definition.ts';
import { builtinResources, type ServiceAllocator } from '../resources/index.ts';
import { noHooks } from '../resources/testing.ts';
import { openApiV2 } from './v2.ts';

interface Document {
  swagger: string;
  paths: Record<string, Record<string, Operation>>;
  definitions: Record<string, { properties: Record<string, object> }>;
  parameters: Record<string, object>;
}
interface Operation {
  consumes: string[];
  parameters: object[];
  responses: Record<string, object>;
  'x-kubernetes-group-version-kind': object;
}

const gadgets = definitionOf({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.edge.example.com' },
  spec: {
    group: 'edge.example.com',
    scope: 'Cluster',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
    versions: ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v2',
      schema: { openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } } },
    })),
  },
});

describe('openApiV2', () => {
  let document: Document;
  beforeAll(() => {
    const definitions = [...builtinResources(noHooks({} as ServiceAllocator)), gadgets];
    const served = definitions.flatMap((definition) =>
      definition.versions.map((version) => ({ definition, version })),
    );
    document = openApiV2(served, '1.36') as unknown as Document;
  });

  it('includes every definition and parameter that it references, and no keywords of v3', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/(\w+)\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(1000);
    const missing = references.filter(
      ([, where, name]) =>
        (document as unknown as Record<string, object>)[where ?? '']?.[name as never] === undefined,
    );
    expect(missing).toEqual([]);
  });

  it('describes built-in kinds with the keywords for strategic merge', () => {
    const { definitions } = document;
    expect(definitions['io.k8s.api.apps.v1.DeploymentSpec']?.properties.strategy).toEqual({
      description: 'The deployment strategy to use to replace existing pods with new ones.',
      $ref: '#/definitions/io.k8s.api.apps.v1.DeploymentStrategy',
      'x-kubernetes-patch-strategy': 'retainKeys',
    });
    expect(definitions['io.k8s.api.core.v1.PodSpec']?.properties.containers).toMatchObject({
      type: 'array',
      items: { $ref: '#/definitions/io.k8s.api.core.v1.Container' },
      'x-kubernetes-patch-merge-key': 'name',
    });
  });

  it('describes every version of custom kinds', () => {
    for (const version of ['v1', 'v2']) {
      expect(document.definitions[`com.example.edge.${version}.Gadget`]).toMatchObject({
        properties: { size: { type: 'integer' } },
        'x-kubernetes-group-version-kind': [{ group: 'edge.example.com', version, kind: 'Gadget' }],
      });
    }
  });

  it('lists fieldValidation as a parameter of namespace patches', () => {
    const patch = document.paths['/api/v1/namespaces/{name}']?.patch;
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({
      group: '',
      version: 'v1',
      kind: 'Namespace',
    });
    expect(patch?.parameters).toContainEqual({ $ref: '#/parameters/fieldValidation' });
    expect(document.parameters.fieldValidation).toMatchObject({ name: 'fieldValidation', in: 'query' });
    expect(patch?.consumes).toContain('application/apply-patch+yaml');
  });

  it('describes the body of a write and the response of a read', () => {
    const { get, post } = document.paths['/apis/edge.example.com/v1/gadgets'] ?? {};
    expect(post?.parameters[0]).toEqual({
      name: 'body',
      in: 'body',
      required: true,
      schema: { $ref: '#/definitions/com.example.edge.v1.Gadget' },
    });
    expect(get?.responses['200']).toEqual({
      description: 'OK',
      schema: { $ref: '#/definitions/com.example.edge.v1.GadgetList' },
    });
  });
});
