import { generateKeyPairSync } from 'node:crypto';
import type { KubeObject } from '@tidegate/kube';
import { beforeEach, expect, it } from 'vitest';
import type { Review, ReviewResource } from '../resources/hooks.ts';
import type { RequestContext } from '../resources/types.ts';
import { Authenticator } from './authenticate.ts';
import { anyOf, masters } from './authorization.ts';
import { bootstrapPolicy } from './rbac/bootstrap-policy.ts';
import { Rbac } from './rbac/rbac.ts';
import { reviews } from './reviews.ts';
import { ServiceAccountKey } from './service-account-key.ts';
import { type ObjectStore, openObjects } from './testing.ts';
import { ServiceAccountTokens } from './tokens.ts';

const now = new Date('2026-01-01T00:00:00.5Z');
let store: ObjectStore;
let handlers: Record<ReviewResource, Review>;
let tokens: ServiceAccountTokens;

beforeEach(async () => {
  store = await openObjects();
  const plurals: Record<string, string> = {
    ClusterRole: 'clusterroles',
    ClusterRoleBinding: 'clusterrolebindings',
  };
  await Promise.all(
    bootstrapPolicy().map((object) => store.put(`rbac.authorization.k8s.io/${plurals[object.kind]}`, object)),
  );
  const key = new ServiceAccountKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  tokens = new ServiceAccountTokens({ key, store, issuer: 'https://here', now: () => now });
  const rbac = new Rbac(store);
  handlers = reviews({
    authenticator: new Authenticator({ tokens, now: () => now }),
    audiences: tokens.audiences,
    authorizer: anyOf(masters, rbac),
    rbac,
  });
  return () => store.dispose();
});

const context = (): RequestContext => ({
  user: { username: 'jane', groups: ['system:authenticated'] },
  now,
  store,
  dryRun: false,
  warn: () => {},
});

const review = (
  kind: string,
  spec: object,
  metadata: object = { creationTimestamp: null },
): Promise<KubeObject> => {
  const group = kind.includes('Access') || kind.includes('Rules') ? 'authorization' : 'authentication';
  return handlers[`${kind.toLowerCase()}s` as ReviewResource](
    { apiVersion: `${group}.k8s.io/v1`, kind, metadata, spec },
    context(),
  );
};

it('access reviews answer for other users and for the caller', async () => {
  const resourceAttributes = { verb: 'list', resource: 'pods', namespace: 'default' };
  expect((await review('SubjectAccessReview', { user: 'joe', resourceAttributes })).status).toEqual({
    allowed: false,
  });
  expect(
    (await review('SubjectAccessReview', { user: 'joe', groups: ['system:masters'], resourceAttributes }))
      .status,
  ).toEqual({ allowed: true });
  const nonResourceAttributes = { verb: 'get', path: '/api' };
  expect((await review('SelfSubjectAccessReview', { nonResourceAttributes })).status).toEqual({
    allowed: true,
    reason:
      'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
  });
});

it.each<[string, object, object, string]>([
  [
    'SubjectAccessReview',
    { resourceAttributes: { verb: 'list' }, nonResourceAttributes: { path: '/healthz' } },
    {},
    '.authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: {"Path":"/healthz","Verb":""}: cannot be specified in combination with resourceAttributes, spec.user: Invalid value: "": at least one of user or group must be specified]',
  ],
  [
    'SelfSubjectAccessReview',
    {},
    { name: 'x' },
    '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, metadata: Invalid value: {"name":"x"}: must be empty]',
  ],
  [
    'LocalSubjectAccessReview',
    { user: 'a', resourceAttributes: { namespace: 'x' } },
    { namespace: 'default' },
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
  ],
  [
    'LocalSubjectAccessReview',
    { user: 'a', nonResourceAttributes: { path: '/', verb: 'get' } },
    { namespace: 'default' },
    '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request',
  ],
  ['SelfSubjectRulesReview', {}, {}, 'no namespace on request'],
  ['TokenReview', {}, {}, 'token is required for TokenReview in authentication'],
])('%s rejects %j', async (kind, spec, metadata, message) => {
  await expect(review(kind, spec, metadata)).rejects.toThrow(message);
});

it('lists the rules that apply in a namespace', async () => {
  const answer = await review('SelfSubjectRulesReview', { namespace: 'default' });
  expect(answer.spec).toEqual({});
  expect(answer.status).toEqual({
    resourceRules: [
      {
        verbs: ['create'],
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    ],
    nonResourceRules: [
      {
        verbs: ['get'],
        nonResourceURLs: [
          '/api',
          '/api/*',
          '/apis',
          '/apis/*',
          '/healthz',
          '/livez',
          '/openapi',
          '/openapi/*',
          '/readyz',
          '/version',
          '/version/',
        ],
      },
      { verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'] },
    ],
    incomplete: false,
  });
});

it('returns the user of the request', async () => {
  expect(await review('SelfSubjectReview', {})).toEqual({
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { userInfo: { username: 'jane', groups: ['system:authenticated'] } },
  });
});

it('reviews tokens', async () => {
  await store.put('serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'robot', namespace: 'shop', uid: 'u1' },
  });
  const token = tokens.issue({
    subject: { namespace: 'shop', serviceAccount: { name: 'robot', uid: 'u1' } },
    audiences: ['foo'],
    expirationSeconds: 600,
  });
  expect((await review('TokenReview', { token, audiences: ['foo', 'bar'] })).status).toMatchObject({
    authenticated: true,
    user: { username: 'system:serviceaccount:shop:robot', uid: 'u1' },
    audiences: ['foo'],
  });
  expect((await review('TokenReview', { token })).status).toEqual({
    user: {},
    error:
      '[invalid bearer token, token audiences ["foo"] is invalid for the target audiences ["https://here"]]',
  });
  expect((await review('TokenReview', { token: 'abc' })).status).toEqual({
    user: {},
    error: 'invalid bearer token',
  });
});
