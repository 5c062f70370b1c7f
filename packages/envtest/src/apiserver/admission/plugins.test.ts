import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { beforeEach, describe, expect, it } from 'vitest';
import requests from '../auth/csr/testdata/requests.json' with { type: 'json' };
import { type ObjectStore, openObjects } from '../auth/testing.ts';
import type { AdmissionAttributes } from '../operations/core.ts';
import type { ResourceDefinition, UserInfo } from '../resources/types.ts';
import { certificates } from './certificates.ts';
import { defaultIngressClass } from './default-ingress-class.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import type { Plugin } from './plugin.ts';
import { serviceAccounts } from './service-account.ts';

let store: ObjectStore;
beforeEach(async () => {
  store = await openObjects();
  return () => store.dispose();
});

const jane: UserInfo = { username: 'jane', groups: [] };
const node1: UserInfo = { username: 'system:node:n1', groups: ['system:nodes'] };

/** Only the attributes that the plugins read. */
function attributesOf(
  resource: string,
  kind: string,
  operation: AdmissionAttributes['operation'],
  more: Partial<AdmissionAttributes>,
): AdmissionAttributes {
  const [group = '', plural = ''] = resource.includes('/') ? resource.split('/') : ['', resource];
  const definition = { group, plural, kind, storage: resource } as ResourceDefinition;
  const object = more.object ?? more.oldObject;
  return {
    operation,
    served: { definition, version: definition.versions?.[0] } as AdmissionAttributes['served'],
    subresource: '',
    namespace: object?.metadata.namespace ?? '',
    name: object?.metadata.name ?? '',
    object: undefined,
    oldObject: undefined,
    user: jane,
    dryRun: false,
    options: {},
    warn: () => {},
    ...more,
  };
}

const outcome = (plugin: Plugin, attributes: AdmissionAttributes): string => {
  try {
    plugin(attributes);
    return 'admitted';
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
};

const object = (kind: string, metadata: object, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata,
  ...more,
});

describe('namespace lifecycle', () => {
  const inShop = object('ConfigMap', { name: 'c', namespace: 'shop' });
  const create = (): string =>
    outcome(namespaceLifecycle(store), attributesOf('configmaps', 'ConfigMap', 'CREATE', { object: inShop }));

  it('allows creates only in namespaces that exist and are not terminating', async () => {
    expect(create()).toBe('namespaces "shop" not found');
    await store.put('namespaces', object('Namespace', { name: 'shop' }, { status: { phase: 'Active' } }));
    expect(create()).toBe('admitted');
    await store.put(
      'namespaces',
      object('Namespace', { name: 'shop' }, { status: { phase: 'Terminating' } }),
    );
    expect(create()).toBe(
      'configmaps "c" is forbidden: unable to create new content in namespace shop because it is being terminated',
    );
    const error = (() => {
      try {
        namespaceLifecycle(store)(attributesOf('configmaps', 'ConfigMap', 'CREATE', { object: inShop }));
      } catch (e) {
        return e as ApiError;
      }
    })();
    expect(error?.status.details?.causes).toEqual([
      {
        reason: 'NamespaceTerminating',
        message: 'namespace shop is being terminated',
        field: 'metadata.namespace',
      },
    ]);
    const change = { object: inShop, oldObject: inShop };
    expect(
      outcome(namespaceLifecycle(store), attributesOf('configmaps', 'ConfigMap', 'UPDATE', change)),
    ).toBe('admitted');
  });

  it('rejects deletes of system namespaces', () => {
    const remove = (name: string): string => {
      const oldObject = object('Namespace', { name });
      return outcome(
        namespaceLifecycle(store),
        attributesOf('namespaces', 'Namespace', 'DELETE', { oldObject }),
      );
    };
    for (const name of ['default', 'kube-system', 'kube-public']) {
      expect(remove(name)).toBe(`namespaces "${name}" is forbidden: this namespace may not be deleted`);
    }
    expect(remove('shop')).toBe('admitted');
  });
});

describe('default IngressClass', () => {
  const ingressClass = (name: string, created: string, isDefault = 'true'): Promise<unknown> =>
    store.put(
      'networking.k8s.io/ingressclasses',
      object('IngressClass', {
        name,
        creationTimestamp: created,
        annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault },
      }),
    );
  const classOf = (ingress: KubeObject): unknown => {
    defaultIngressClass(store)(
      attributesOf('networking.k8s.io/ingresses', 'Ingress', 'CREATE', { object: ingress }),
    );
    return (ingress.spec as { ingressClassName?: string }).ingressClassName;
  };
  const ingress = (metadata: object = {}, spec: object = {}): KubeObject =>
    object('Ingress', { name: 'i', namespace: 'shop', ...metadata }, { spec });

  it('is the newest one, then the first by name', async () => {
    expect(classOf(ingress())).toBeUndefined();
    await ingressClass('old', '2026-01-01T00:00:00Z');
    await ingressClass('not-default', '2026-03-01T00:00:00Z', 'false');
    expect(classOf(ingress())).toBe('old');
    await ingressClass('new-b', '2026-02-01T00:00:00Z');
    await ingressClass('new-a', '2026-02-01T00:00:00Z');
    expect(classOf(ingress())).toBe('new-a');
  });

  it('does not change an Ingress that has a class', async () => {
    await ingressClass('a', '2026-01-01T00:00:00Z');
    expect(classOf(ingress({}, { ingressClassName: '' }))).toBe('');
    expect(classOf(ingress({ annotations: { 'kubernetes.io/ingress.class': 'x' } }))).toBeUndefined();
  });
});

describe('node restriction', () => {
  const as1 = (
    resource: string,
    kind: string,
    operation: AdmissionAttributes['operation'],
    more: Partial<AdmissionAttributes>,
  ): string =>
    outcome(nodeRestriction(store), attributesOf(resource, kind, operation, { user: node1, ...more }));
  const pod = (nodeName: string, labels: object = {}): KubeObject =>
    object('Pod', { name: 'p', namespace: 'shop', labels }, { spec: { nodeName } });

  it('allows only pods of the node', () => {
    const status = { subresource: 'status' };
    expect(as1('pods', 'Pod', 'UPDATE', { ...status, object: pod('n1'), oldObject: pod('n1') })).toBe(
      'admitted',
    );
    expect(as1('pods', 'Pod', 'UPDATE', { ...status, object: pod('n2'), oldObject: pod('n2') })).toBe(
      'pods "p" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself',
    );
    const relabeled = { ...status, object: pod('n1', { a: 'b' }), oldObject: pod('n1') };
    expect(as1('pods', 'Pod', 'UPDATE', relabeled)).toBe(
      'pods "p" is forbidden: node "n1" cannot update labels through pod status',
    );
    expect(as1('pods', 'Pod', 'DELETE', { oldObject: pod('n1') })).toBe('admitted');
    expect(as1('pods', 'Pod', 'DELETE', { oldObject: pod('n2') })).toBe(
      'pods "p" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
    );
    expect(as1('pods', 'Pod', 'CREATE', { object: pod('n1') })).toBe(
      'pods "p" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
    );
  });

  it('allows only mirror pods that name their node as owner', async () => {
    await store.put('nodes', object('Node', { name: 'n1', uid: 'u1' }));
    const mirror = (owner: object): KubeObject => ({
      ...pod('n1'),
      metadata: {
        name: 'p',
        namespace: 'shop',
        annotations: { 'kubernetes.io/config.mirror': 'x' },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1', controller: true, ...owner },
        ],
      },
    });
    expect(as1('pods', 'Pod', 'CREATE', { object: mirror({}) })).toBe('admitted');
    expect(as1('pods', 'Pod', 'CREATE', { object: mirror({ name: 'n2' }) })).toBe(
      'pods "p" is forbidden: node "n1" can only create pods with an owner reference set to itself',
    );
    expect(as1('pods', 'Pod', 'CREATE', { object: mirror({ uid: 'u2' }) })).toBe(
      'pods "p" is forbidden: node n1 UID mismatch: expected u2 got u1',
    );
  });

  it('allows only its own Node, without labels that select workloads', () => {
    const node = (name: string, labels: object, spec: object = {}): KubeObject =>
      object('Node', { name, labels }, { spec });
    const update = (labels: object, spec?: object): string =>
      as1('nodes', 'Node', 'UPDATE', { object: node('n1', labels, spec), oldObject: node('n1', {}) });
    expect(
      update({ 'kubernetes.io/hostname': 'n1', 'example.com/a': 'b', 'x.node.kubernetes.io/y': 'z' }),
    ).toBe('admitted');
    expect(update({ 'node-restriction.kubernetes.io/a': 'b', 'node-role.kubernetes.io/master': '' })).toBe(
      'nodes "n1" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/master',
    );
    expect(update({}, { taints: [{ key: 'a' }] })).toBe(
      'nodes "n1" is forbidden: node "n1" is not allowed to modify taints',
    );
    expect(as1('nodes', 'Node', 'CREATE', { object: node('n2', {}) })).toBe(
      'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
    );
  });

  it('allows only its own Lease', () => {
    const lease = (name: string, namespace = 'kube-node-lease'): Partial<AdmissionAttributes> => ({
      object: object('Lease', { name, namespace }),
    });
    expect(as1('coordination.k8s.io/leases', 'Lease', 'CREATE', lease('n1'))).toBe('admitted');
    expect(as1('coordination.k8s.io/leases', 'Lease', 'CREATE', lease('n2'))).toBe(
      'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node',
    );
  });

  it('ignores other users', () => {
    const attributes = attributesOf('pods', 'Pod', 'DELETE', { oldObject: pod('n2') });
    expect(outcome(nodeRestriction(store), attributes)).toBe('admitted');
  });
});

describe('certificate signers', () => {
  const request = (subject: string): string => (requests as Record<string, string>)[subject] ?? '';
  const csr = (subject: string, signerName: string, status: object = {}): KubeObject =>
    object(
      'CertificateSigningRequest',
      { name: 'x' },
      { spec: { request: request(subject), signerName }, status },
    );
  const check = (
    operation: AdmissionAttributes['operation'],
    more: Partial<AdmissionAttributes>,
    ...rights: string[]
  ): string =>
    outcome(
      certificates({
        authorize: (_user, a) => ({
          allowed: rights.includes(`${a.verb} ${'name' in a ? a.name : ''}`),
          reason: '',
        }),
      }),
      attributesOf(
        'certificates.k8s.io/certificatesigningrequests',
        'CertificateSigningRequest',
        operation,
        more,
      ),
    );

  it('rejects client certificates for system:masters', () => {
    const signer = 'kubernetes.io/kube-apiserver-client';
    expect(check('CREATE', { object: csr('/O=dev/CN=jane', signer) })).toBe('admitted');
    expect(check('CREATE', { object: csr('/O=system:masters/CN=jane', signer) })).toBe(
      'certificatesigningrequests.certificates.k8s.io "x" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    );
  });

  it('require a permission for the signer to approve and to sign', () => {
    const oldObject = csr('/CN=jane', 'example.com/mine');
    const signed = { ...oldObject, status: { certificate: 'x' } };
    const approval = { object: oldObject, oldObject, subresource: 'approval' };
    const status = { object: signed, oldObject, subresource: 'status' };
    const head = 'certificatesigningrequests.certificates.k8s.io "x" is forbidden: user not permitted to';
    expect(check('UPDATE', approval)).toBe(`${head} approve requests with signerName "example.com/mine"`);
    expect(check('UPDATE', approval, 'approve example.com/mine')).toBe('admitted');
    expect(check('UPDATE', approval, 'approve example.com/*')).toBe('admitted');
    expect(check('UPDATE', status, 'approve example.com/*')).toBe(
      `${head} sign requests with signerName "example.com/mine"`,
    );
    expect(check('UPDATE', status, 'sign example.com/*')).toBe('admitted');
  });
});

describe('service account', () => {
  const pod = (name: string, spec: object = {}): KubeObject =>
    object(
      'Pod',
      { name, namespace: 'shop' },
      { spec: { containers: [{ name: 'web', image: 'web' }], ...spec } },
    );
  const create = async (created: KubeObject): Promise<string> => {
    try {
      await serviceAccounts(store, () => 0)(attributesOf('pods', 'Pod', 'CREATE', { object: created }));
      return 'admitted';
    } catch (error) {
      if (error instanceof ApiError) return error.message;
      throw error;
    }
  };
  const account = (more: object = {}): Promise<unknown> =>
    store.put('serviceaccounts', object('ServiceAccount', { name: 'builder', namespace: 'shop' }, more));
  const mounts = (created: KubeObject): unknown =>
    (created.spec as { containers: { volumeMounts?: unknown }[] }).containers[0]?.volumeMounts;

  it('rejects a service account that does not exist', async () => {
    expect(await create(pod('p', { serviceAccountName: 'builder' }))).toBe(
      'pods "p" is forbidden: error looking up service account shop/builder: serviceaccount "builder" not found',
    );
  });

  it('waits until a controller has created the default account', async () => {
    const created = create(pod('p'));
    await store.put('serviceaccounts', object('ServiceAccount', { name: 'default', namespace: 'shop' }));
    expect(await created).toBe('admitted');
  });

  it('mounts a token into every container that has no volume at that path', async () => {
    await account();
    const created = pod('p', { serviceAccountName: 'builder' });
    expect(await create(created)).toBe('admitted');
    expect(mounts(created)).toEqual([
      {
        name: 'kube-api-access-bbbbb',
        readOnly: true,
        mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
      },
    ]);
  });

  it.each([
    ['the pod', {}, { automountServiceAccountToken: false }],
    ['its account', { automountServiceAccountToken: false }, {}],
  ])('mounts no token when %s disables it', async (_, ofAccount, ofPod) => {
    await account(ofAccount);
    const created = pod('p', { serviceAccountName: 'builder', ...ofPod });
    expect(await create(created)).toBe('admitted');
    expect(mounts(created)).toBeUndefined();
  });
});
