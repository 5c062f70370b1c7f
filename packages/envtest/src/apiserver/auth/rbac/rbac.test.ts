import type { KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UserInfo } from '../../resources/types.ts';
import { type Attributes, anyOf, forbiddenError, masters } from '../authorization.ts';
import { type ObjectStore, openObjects } from '../testing.ts';
import { bootstrapPolicy } from './bootstrap-policy.ts';
import { checkEscalation } from './escalation.ts';
import { Rbac } from './rbac.ts';
import { missingRules, type PolicyRule, ruleAllows } from './rules.ts';

const PLURALS: Record<string, string> = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
};
const storageOf = (object: KubeObject): string => `rbac.authorization.k8s.io/${PLURALS[object.kind]}`;

const role = (name: string, namespace: string, rules: PolicyRule[]): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: namespace === '' ? 'ClusterRole' : 'Role',
  metadata: { name, ...(namespace === '' ? {} : { namespace }) },
  rules,
});
const binding = (name: string, namespace: string, roleRef: string, ...subjects: string[]): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
  metadata: { name, ...(namespace === '' ? {} : { namespace }) },
  roleRef: { kind: roleRef.split(' ')[0]!, name: roleRef.split(' ')[1]! },
  subjects: subjects.map((text) => {
    const [kind, subject = '', home] = text.split(' ');
    return { kind, name: subject, ...(home === undefined ? {} : { namespace: home }) };
  }),
});
const user = (username: string, ...groups: string[]): UserInfo => ({ username, groups });
const ask = (verb: string, resource: string, namespace = '', name = '', group = ''): Attributes => {
  const [plain = '', subresource = ''] = resource.split('/');
  return { verb, group, resource: plain, subresource, namespace, name };
};

let store: ObjectStore;
let rbac: Rbac;
const put = (object: KubeObject): Promise<unknown> => store.put(storageOf(object), object);
const remove = (object: KubeObject): Promise<unknown> => store.remove(storageOf(object), object);
beforeEach(async () => {
  store = await openObjects();
  await Promise.all(bootstrapPolicy().map(put));
  rbac = new Rbac(store);
  return () => store.dispose();
});

describe('decisions', () => {
  it('name the binding that allows a request', async () => {
    await put(role('reader', 'shop', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]));
    await put(binding('b', 'shop', 'Role reader', 'ServiceAccount robot', 'Group dev'));
    expect(rbac.authorize(user('system:serviceaccount:shop:robot'), ask('get', 'pods', 'shop', 'x'))).toEqual(
      {
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "b/shop" of Role "reader" to ServiceAccount "robot/shop"',
      },
    );
    expect(rbac.authorize(user('x', 'system:authenticated'), { verb: 'get', path: '/healthz' }).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    );
    expect(rbac.authorize(user('jane', 'dev'), ask('get', 'pods', 'other')).allowed).toBe(false);
    expect(rbac.authorize(user('jane', 'dev'), ask('get', 'pods')).allowed).toBe(false);
  });

  it('follow every change immediately', async () => {
    const grant = binding('b', '', 'ClusterRole view', 'User jane');
    const may = (): boolean => rbac.authorize(user('jane'), ask('list', 'pods', 'shop')).allowed;
    expect(may()).toBe(false);
    await put(grant);
    expect(may()).toBe(true);
    await put({ ...grant, subjects: [{ kind: 'User', name: 'joe' }] });
    expect(may()).toBe(false);
    await put(grant);
    await remove(role('view', '', []));
    expect(rbac.authorize(user('jane'), ask('list', 'pods', 'shop'))).toEqual({
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "view" not found',
    });
    await put(role('view', '', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]));
    expect(may()).toBe(true);
    await remove(grant);
    expect(may()).toBe(false);
  });

  it('support RoleBindings to a ClusterRole', async () => {
    await put(binding('b', 'shop', 'ClusterRole edit', 'User jane'));
    expect(rbac.authorize(user('jane'), ask('create', 'deployments', 'shop', '', 'apps')).allowed).toBe(true);
    expect(rbac.authorize(user('jane'), ask('create', 'deployments', 'other', '', 'apps')).allowed).toBe(
      false,
    );
    expect(
      rbac.authorize(user('jane'), ask('create', 'roles', 'shop', '', 'rbac.authorization.k8s.io')).allowed,
    ).toBe(false);
  });

  it.each<[PolicyRule, Attributes, boolean]>([
    [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }, ask('get', 'pods/log'), false],
    [{ verbs: ['get'], apiGroups: [''], resources: ['pods/log'] }, ask('get', 'pods/log'), true],
    [{ verbs: ['get'], apiGroups: [''], resources: ['*/log'] }, ask('get', 'pods/log'), true],
    [{ verbs: ['get'], apiGroups: [''], resources: ['*/log'] }, ask('get', 'pods'), false],
    [{ verbs: ['get'], apiGroups: [''], resources: ['*'] }, ask('get', 'pods/log'), true],
    [{ verbs: ['*'], apiGroups: ['apps'], resources: ['*'] }, ask('get', 'pods'), false],
    [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
      ask('get', 'pods', '', 'a'),
      true,
    ],
    [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
      ask('get', 'pods', '', 'b'),
      false,
    ],
    [
      { verbs: ['list'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
      ask('list', 'pods'),
      false,
    ],
    [{ verbs: ['get'], nonResourceURLs: ['/api/*'] }, { verb: 'get', path: '/api/v1' }, true],
    [{ verbs: ['get'], nonResourceURLs: ['/api/*'] }, { verb: 'get', path: '/api' }, false],
    [{ verbs: ['get'], nonResourceURLs: ['*'] }, { verb: 'get', path: '/x' }, true],
    [{ verbs: ['get'], nonResourceURLs: ['*'] }, ask('get', 'pods'), false],
  ])('%j on %j: %s', (rule, attributes, allowed) => {
    expect(ruleAllows(rule, attributes)).toBe(allowed);
  });

  it('deny with the messages of kube-apiserver', () => {
    const text = (attributes: Attributes): string => forbiddenError(user('jane'), attributes, '').message;
    expect(text(ask('list', 'pods', 'default'))).toBe(
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
    );
    expect(text(ask('get', 'deployments/scale', '', 'x', 'apps'))).toBe(
      'deployments.apps "x" is forbidden: User "jane" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
    );
    expect(text({ verb: 'get', path: '/metrics?<a>' })).toBe(
      'forbidden: User "jane" cannot get path "/metrics?&lt;a&gt;"',
    );
  });

  it('always allow system:masters, without a reason', () => {
    const authorizer = anyOf(masters, rbac);
    expect(authorizer.authorize(user('x', 'system:masters'), ask('get', 'x'))).toEqual({
      allowed: true,
      reason: '',
    });
  });
});

describe('escalation', () => {
  const joe = user('joe', 'system:authenticated');
  beforeEach(async () => {
    const rules = [
      {
        verbs: ['create', 'update'],
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['roles', 'rolebindings'],
      },
    ];
    await put(role('maker', 'shop', rules));
    await put(binding('joe', 'shop', 'Role maker', 'User joe'));
  });
  const write = (object: KubeObject, old?: KubeObject): void =>
    checkEscalation({ resource: PLURALS[object.kind]!, user: joe, object, old }, rbac, rbac);

  it('is rejected with the missing permissions', () => {
    const wanted = role('y', 'shop', [
      { verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods'], resourceNames: ['n'] },
      { verbs: ['create', 'get'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] },
    ]);
    expect(() => write(wanted)).toThrow(
      `roles.rbac.authorization.k8s.io "y" is forbidden: user "joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], ResourceNames:["n"], Verbs:["get" "list"]}
{APIGroups:["apps"], Resources:["pods"], ResourceNames:["n"], Verbs:["get" "list"]}
{APIGroups:["rbac.authorization.k8s.io"], Resources:["roles"], Verbs:["get"]}`,
    );
    expect(() => write(role('y', '', [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/x'] }]))).toThrow(
      `{NonResourceURLs:["/metrics"], Verbs:["get"]}
{NonResourceURLs:["/x"], Verbs:["get"]}`,
    );
    expect(() => write(binding('y', 'shop', 'ClusterRole cluster-admin', 'User joe'))).toThrow(
      'rolebindings.rbac.authorization.k8s.io "y" is forbidden: user "joe"',
    );
    expect(() => write(binding('y', 'shop', 'ClusterRole nope', 'User joe'))).toThrow(
      'rolebindings.rbac.authorization.k8s.io "nope" not found',
    );
    expect(() =>
      write({
        ...role('agg', '', []),
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
      }),
    ).toThrow(
      'clusterroles.rbac.authorization.k8s.io "agg" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    );
  });

  it('allows a user to grant its own permissions, and to escalate or bind if RBAC allows it', async () => {
    write(
      role('y', 'shop', [
        { verbs: ['create'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] },
      ]),
    );
    write(binding('y', 'shop', 'Role maker', 'User jane'));
    await put(
      role('more', 'shop', [
        { verbs: ['escalate'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] },
        {
          verbs: ['bind'],
          apiGroups: ['rbac.authorization.k8s.io'],
          resources: ['clusterroles'],
          resourceNames: ['cluster-admin'],
        },
      ]),
    );
    await put(binding('more', 'shop', 'Role more', 'User joe'));
    write(role('y', 'shop', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]));
    write(binding('y', 'shop', 'ClusterRole cluster-admin', 'User joe'));
  });

  it('allows the garbage collector to remove its finalizer', () => {
    const old = role('big', 'shop', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]);
    write({ ...old, metadata: { ...old.metadata, finalizers: ['x'] } }, old);
  });
});

it('missingRules returns exactly the rules that are not covered', () => {
  const some = (...values: string[]): fc.Arbitrary<string[]> =>
    fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 });
  const rule = fc.record({
    verbs: some('get', 'list', '*'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', '*/log', '*'),
  });
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 4 }), rule, (owned, wanted) => {
      if (missingRules(owned, [wanted]).length > 0) return;
      for (const verb of ['get', 'list', 'watch']) {
        for (const group of ['', 'apps', 'batch']) {
          for (const resource of ['pods', 'pods/log', 'jobs/log', 'jobs']) {
            const attributes = ask(verb, resource, '', '', group);
            if (ruleAllows(wanted, attributes)) {
              expect(owned.some((one) => ruleAllows(one, attributes))).toBe(true);
            }
          }
        }
      }
    }),
  );
});

it('missingRules does not split a rule with millions of parts', () => {
  const many = (prefix: string): string[] => Array.from({ length: 300 }, (_, i) => `${prefix}${i}`);
  const wanted = {
    verbs: many('v'),
    apiGroups: many('g'),
    resources: many('r'),
    resourceNames: many('n'),
  };
  expect(missingRules([{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }], [wanted])).toEqual([
    wanted,
  ]);
  const { resourceNames: _, ...withoutNames } = wanted;
  expect(missingRules([withoutNames], [wanted])).toEqual([]);
  expect(missingRules([wanted], [withoutNames])).toEqual([withoutNames]);
});
