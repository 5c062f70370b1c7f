/** Applications with objects of custom kinds, whose CustomResourceDefinitions come and go. */
import type { KubeClient, Resource } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EDGE_APPLICATIONS } from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { application, observe, runApplications } from './support.ts';

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};
const GADGETS: Resource = { group: 'example.com', version: 'v1', resource: 'gadgets', namespaced: true };

const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Gadget', plural: 'gadgets' },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  },
};
const gadget = {
  apiVersion: 'example.com/v1',
  kind: 'Gadget',
  metadata: { name: 'g' },
  spec: { size: 1 },
};

describe('an application with objects of a custom kind', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  let end: () => Promise<void>;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
    end = runApplications(client);
  });
  afterAll(async () => {
    await end();
    await server.stop();
  });

  it('can contain the CustomResourceDefinition too', async () => {
    const { readyBecomes, appears } = observe(client);
    await client.create(EDGE_APPLICATIONS, application('both', [gadget, definition]));
    await readyBecomes('both', /True Available/);
    await appears(GADGETS, 'g');
  });

  it('is applied when the kind is created later, reports when it is removed, and corrects drift when it is back', async () => {
    const { readyBecomes, appears, isGone } = observe(client);
    await client.delete(EDGE_APPLICATIONS, { name: 'both', namespace: 'default' });
    await isGone(DEFINITIONS, 'gadgets.example.com');
    await isGone(EDGE_APPLICATIONS, 'both');
    await client.create(EDGE_APPLICATIONS, application('later', [gadget]));
    await readyBecomes('later', /RenderFailed: .*manifests\[0\]\.kind: the cluster has no kind Gadget/);
    await client.create(DEFINITIONS, definition);
    await readyBecomes('later', /True Available/);

    await client.delete(DEFINITIONS, { name: 'gadgets.example.com' });
    await readyBecomes('later', /the cluster has no kind Gadget/);

    await isGone(DEFINITIONS, 'gadgets.example.com');
    await client.create(DEFINITIONS, definition);
    await readyBecomes('later', /True Available/);
    await client.patch(GADGETS, { name: 'g', namespace: 'default' }, 'merge', { spec: { size: 2 } });
    const { spec } = await appears(GADGETS, 'g', ({ spec }) => (spec as { size: number }).size === 1);
    expect(spec).toEqual({ size: 1 });
  });

  it('reports a removed kind whose objects the manager has not listed yet', async () => {
    const { readyBecomes, isGone } = observe(client);
    await client.delete(EDGE_APPLICATIONS, { name: 'later', namespace: 'default' });
    await isGone(EDGE_APPLICATIONS, 'later');
    await end();
    end = runApplications(withoutListsOf('gadgets', client));
    await client.create(EDGE_APPLICATIONS, application('unlisted', [gadget]));
    await readyBecomes('unlisted', /True Available/);
    await client.delete(DEFINITIONS, { name: 'gadgets.example.com' });
    await readyBecomes('unlisted', /the cluster has no kind Gadget/);
  });
});

/** A client that never gets the objects of a resource, as over a very slow link. */
function withoutListsOf(resource: string, client: KubeClient): KubeClient {
  const lists = new Set<string | symbol>(['watch', 'pages', 'listPage']);
  const untilAborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  return new Proxy(client, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: [Resource, { signal: AbortSignal }]) =>
        lists.has(name) && args[0].resource === resource
          ? untilAborted(args[1].signal)
          : member.apply(target, args);
    },
  });
}
