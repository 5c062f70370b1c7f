import { describe, expect, it } from 'vitest';
import type { UserInfo } from '../resources/types.ts';
import type { Attributes, Authorizer } from './authorization.ts';
import { impersonate } from './impersonate.ts';

const attributes: Attributes = {
  verb: 'list',
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
};
const robot: UserInfo = { username: 'system:serviceaccount:shop:robot', groups: [] };

/** Allows the listed actions, written as `verb group/resource/subresource ns/name`. */
const allowing = (...allowed: string[]): Authorizer => ({
  authorize: (_user, a) => {
    const text =
      'path' in a ? a.path : `${a.verb} ${a.group}/${a.resource}/${a.subresource} ${a.namespace}/${a.name}`;
    return { allowed: allowed.includes('*') || allowed.includes(text), reason: '' };
  },
});

function actAs(
  headers: Record<string, string | string[]>,
  authorizer: Authorizer,
  requestor = robot,
): UserInfo {
  const distinct = Object.fromEntries(
    Object.entries(headers).map(([k, v]) => [k, Array.isArray(v) ? v : [v]]),
  );
  const joined = Object.fromEntries(Object.entries(distinct).map(([k, v]) => [k, v.join(', ')]));
  return impersonate({ headers: joined, headersDistinct: distinct }, requestor, attributes, authorizer);
}

describe('impersonate', () => {
  it('ignores requests without impersonation headers', () => {
    expect(actAs({ accept: 'x' }, allowing())).toBe(robot);
  });

  it('reads user, groups, uid and extra', () => {
    const headers = {
      'impersonate-user': 'jane',
      'impersonate-group': ['dev', 'a, b'],
      'impersonate-uid': '7',
      'impersonate-extra-acme.com%2fproject': ['x', 'y'],
    };
    const allowed = [
      'impersonate /users/ /jane',
      'impersonate authentication.k8s.io/uids/ /7',
      'impersonate /groups/ /dev',
      'impersonate /groups/ /a, b',
      'impersonate authentication.k8s.io/userextras/acme.com/project /x',
      'impersonate authentication.k8s.io/userextras/acme.com/project /y',
    ];
    expect(actAs(headers, allowing(...allowed))).toEqual({
      username: 'jane',
      uid: '7',
      groups: ['dev', 'a, b', 'system:authenticated'],
      extra: { 'acme.com/project': ['x', 'y'] },
    });
    for (const missing of allowed) {
      const rest = allowed.filter((one) => one !== missing);
      expect(() => actAs(headers, allowing(...rest))).toThrow(/cannot impersonate-on:user-info:list/);
    }
  });

  it('adds the groups of service accounts and of the anonymous user', () => {
    const groups = (username: string): string[] =>
      actAs({ 'impersonate-user': username }, allowing('*')).groups;
    expect(groups('system:serviceaccount:a:b')).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:a',
      'system:authenticated',
    ]);
    expect(groups('system:anonymous')).toEqual(['system:unauthenticated']);
    expect(groups('system:node:n1')).toEqual(['system:nodes', 'system:authenticated']);
  });

  it('allows to impersonate system:masters only with the verb impersonate', () => {
    const headers = { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' };
    const constrained = allowing(
      'impersonate-on:user-info:list /pods/ /',
      'impersonate:user-info authentication.k8s.io/users/ /jane',
      'impersonate:user-info authentication.k8s.io/groups/ /system:masters',
    );
    expect(() => actAs(headers, constrained)).toThrow(
      'groups.authentication.k8s.io "system:masters" is forbidden: User "system:serviceaccount:shop:robot" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed',
    );
    expect(actAs(headers, allowing('*')).groups).toContain('system:masters');
  });

  it('allows a service account to impersonate its node', () => {
    const onNode = { ...robot, extra: { 'authentication.kubernetes.io/node-name': ['n1'] } };
    const may = allowing(
      'impersonate-on:associated-node:list /pods/ /',
      'impersonate:associated-node authentication.k8s.io/nodes/ /*',
    );
    expect(actAs({ 'impersonate-user': 'system:node:n1' }, may, onNode).username).toBe('system:node:n1');
    expect(() => actAs({ 'impersonate-user': 'system:node:n2' }, may, onNode)).toThrow(/forbidden/);
  });

  it('rejects with the messages of kube-apiserver', () => {
    expect(() => actAs({ 'impersonate-user': 'system:serviceaccount:x:y' }, allowing())).toThrow(
      'pods is forbidden: User "system:serviceaccount:shop:robot" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" at the cluster scope',
    );
    expect(() => actAs({ 'impersonate-uid': 'u' }, allowing())).toThrow(
      'requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name',
    );
    expect(() => actAs({ 'impersonate-group': 'u', 'impersonate-extra-scopes': 'u' }, allowing())).toThrow(
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"u"}, Extra:map[string][]string{"scopes":[]string{"u"}}} without impersonating a user name',
    );
  });
});
