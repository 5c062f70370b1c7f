import type { KubeObject } from '@tidegate/kube';
import { beforeEach, expect, it } from 'vitest';
import { NodeAuthorizer } from './node-authorizer.ts';
import { type ObjectStore, openObjects } from './testing.ts';

const pod = (name: string, node: string, secret: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop' },
  spec: {
    nodeName: node,
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'registry' }],
    containers: [
      {
        env: [{ valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } }],
        envFrom: [{ secretRef: { name: 'environment' } }],
      },
    ],
    volumes: [
      { name: 'a', secret: { secretName: secret } },
      { name: 'b', projected: { sources: [{ configMap: { name: 'projected' } }] } },
      { name: 'c', persistentVolumeClaim: { claimName: 'data' } },
    ],
  },
});

let store: ObjectStore;
let nodes: NodeAuthorizer;
beforeEach(async () => {
  store = await openObjects();
  await store.put('pods', pod('p1', 'n1', 'mine'));
  nodes = new NodeAuthorizer(store);
  return () => store.dispose();
});

/** `verb resource[/sub] [namespace/]name` */
function ask(text: string, fields?: Record<string, string>, node = 'n1'): string | true {
  const [verb = '', resource = '', path = ''] = text.split(' ');
  const [plural = '', subresource = ''] = resource.split('/');
  const [namespace = '', name = ''] = path.includes('/') ? path.split('/') : ['', path];
  const group = plural === 'leases' ? 'coordination.k8s.io' : '';
  const user = { username: `system:node:${node}`, groups: ['system:nodes'] };
  const attributes = { verb, group, resource: plural, subresource, namespace, name, fields };
  const decision = nodes.authorize(user, attributes);
  return decision.allowed || decision.reason;
}

it('allows a node to read only the objects that its pods reference', () => {
  for (const allowed of [
    'get secrets shop/mine',
    'watch secrets shop/registry',
    'get secrets shop/environment',
    'list configmaps shop/settings',
    'get configmaps shop/projected',
    'get persistentvolumeclaims shop/data',
    'get pods shop/p1',
    'get serviceaccounts shop/robot',
    'create serviceaccounts/token shop/robot',
    'list services ',
  ]) {
    expect([allowed, ask(allowed)]).toEqual([allowed, true]);
  }
  const stranger = "no relationship found between node 'n1' and this object";
  expect(ask('get secrets shop/other')).toBe(stranger);
  expect(ask('get secrets elsewhere/mine')).toBe(stranger);
  expect(ask('create serviceaccounts/token shop/other')).toBe(stranger);
  expect(ask('list secrets shop/')).toBe('No Object name found');
  expect(ask('list secrets ')).toBe('can only read namespaced object of this type');
  expect(ask('update secrets shop/mine')).toBe('can only read resources of this type');
  expect(ask('get secrets shop/mine', undefined, 'n2')).toBe(
    "no relationship found between node 'n2' and this object",
  );
});

it('allows a node to list only its own pods', () => {
  expect(ask('list pods ', { 'spec.nodeName': 'n1' })).toBe(true);
  expect(ask('list pods ', { 'spec.nodeName': 'n2' })).toBe(
    'can only list/watch pods with spec.nodeName field selector',
  );
});

it('allows a node to access only its own Node and Lease', () => {
  expect(ask('get nodes n1')).toBe(true);
  expect(ask('get nodes n2')).toBe("node 'n1' cannot read 'n2', only its own Node object");
  expect(ask('list nodes ')).toBe("node 'n1' cannot read all nodes, only its own Node object");
  expect(ask('update leases kube-node-lease/n1')).toBe(true);
  expect(ask('update leases kube-node-lease/n2')).toBe(
    'can only access node lease with the same name as the requesting node',
  );
  expect(ask('get leases shop/n1')).toBe('can only access leases in the "kube-node-lease" system namespace');
});

it('revokes access with the last pod that references an object', async () => {
  await store.put('pods', pod('p2', 'n1', 'mine'));
  await store.remove('pods', pod('p1', 'n1', 'mine'));
  expect(ask('get secrets shop/mine')).toBe(true);
  await store.put('pods', pod('p2', 'n2', 'mine'));
  expect(ask('get secrets shop/mine')).not.toBe(true);
  expect(ask('get secrets shop/mine', undefined, 'n2')).toBe(true);
});

it('ignores users that are not nodes', () => {
  const attributes = {
    verb: 'get',
    group: '',
    resource: 'nodes',
    subresource: '',
    namespace: '',
    name: 'n1',
  };
  for (const user of [
    { username: 'system:node:n1', groups: [] },
    { username: 'n1', groups: ['system:nodes'] },
  ]) {
    expect(nodes.authorize(user, attributes).allowed).toBe(false);
  }
});
