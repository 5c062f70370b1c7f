import { readFileSync } from 'node:fs';
import { ApiStatusError } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { permissionHint, ROLE_RESOURCES } from './permission-hint.ts';

const forbidden = (message: string): ApiStatusError =>
  new ApiStatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code: 403,
    reason: 'Forbidden',
    message,
  });
const DENIED = forbidden(
  'secrets "till" is forbidden: User "x" cannot get resource "secrets" in API group ""',
);
const identifier = { ordinal: 0, version: 'v1', kind: 'Any', name: 'till', namespace: 'shop' };

interface Role {
  kind: string;
  metadata: { name: string };
  rules: { apiGroups: string[]; resources: string[] }[];
}

describe('permissionHint', () => {
  it('names the shipped role for kinds that it allows, and no other command', () => {
    const hint = permissionHint(DENIED, { ...identifier, group: 'apps', resource: 'deployments' });
    expect(hint).toContain('create rolebinding tidegate-apps --namespace shop --clusterrole tidegate-apps ');
    expect(hint).not.toContain('create clusterrole');
  });

  it('names a role of its own for other kinds, and no other command', () => {
    const hint = permissionHint(DENIED, { ...identifier, resource: 'secrets' });
    expect(hint).toContain('kubectl create clusterrole tidegate-apps-secrets ');
    expect(hint).toContain('kubectl create rolebinding tidegate-apps-secrets --namespace shop ');
    expect(hint).not.toContain('--clusterrole tidegate-apps ');
  });

  it('is empty for a quota', () => {
    const error = forbidden('pods "web" is forbidden: exceeded quota: small');
    expect(permissionHint(error, { ...identifier, resource: 'pods' })).toBe('');
  });

  it('knows the kinds of the shipped role', () => {
    const path = new URL('../../../../../deploy/base/apps.yaml', import.meta.url);
    const roles = parseAllDocuments(readFileSync(path, 'utf8')).map((each) => each.toJS() as Role);
    const role = roles.find(
      ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'tidegate-apps',
    );
    const allowed = role?.rules.flatMap(({ apiGroups: [group], resources }) =>
      resources.map((resource) => (group === '' ? resource : `${resource}.${group}`)),
    );
    expect([...ROLE_RESOURCES].toSorted()).toEqual(allowed?.toSorted());
  });
});
