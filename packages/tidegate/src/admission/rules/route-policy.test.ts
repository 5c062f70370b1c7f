import { expect, test } from 'vitest';
import { attachedPolicy, CLASS } from '../../ingress/testing/objects.ts';
import type { AdmissionRequest } from '../review.ts';
import { routePolicyRules } from './route-policy.ts';

const [own, cluster] = routePolicyRules();
const TARGETS = { targetRefs: [{ kind: 'IngressClass' as const, name: CLASS }] };
const request = (object: object, oldObject: object | null = null): AdmissionRequest =>
  ({ object, oldObject, operation: 'CREATE', name: 'policy' }) as unknown as AdmissionRequest;
const review = async (spec: object, isOwn = false) =>
  (isOwn ? own : cluster)!.evaluate(
    request(attachedPolicy(isOwn ? { namespace: 'shop' } : {}, { ...TARGETS, ...spec })),
  );

test.each<[object, string, RegExp]>([
  [{ access: { allow: ['10.0.0.0/99'] } }, 'spec.access.allow', /10\.0\.0\.0\/99/],
  [{ externalAuth: { url: 'ftp://x' } }, 'spec.externalAuth.url', /http or https/],
  [{ externalAuth: { method: 'GET' } }, 'spec.externalAuth.method', /auth-url/],
  [{ cors: { allowOrigins: ['x'] } }, 'spec.cors.allowOrigins', /origins/],
  [{ timeouts: { connect: '2h' } }, 'spec.timeouts.connect', /at most 75s/],
  [
    { basicAuth: { secretName: 'users' } },
    'spec.secretNamespace',
    /namespace of the Secret of spec\.basicAuth/,
  ],
  [{ rewrite: { target: '/' } }, 'spec.rewrite', /targets are Ingresses/],
  [{ firewall: {} }, 'spec.firewall', /does not know the field/],
])('rejects %j at %s', async (spec, path, message) => {
  const { problems = [] } = await review(spec);
  expect(problems).toEqual([{ path, message: expect.stringMatching(message) }]);
});

test('accepts valid policies of both kinds', async () => {
  const spec = {
    access: { allow: ['10.0.0.0/8'] },
    limits: { requestsPerSecond: 5 },
    cors: {},
    body: { maxSize: '8m' },
  };
  expect(await review(spec)).toEqual({ problems: [], warnings: [] });
  const targetRefs = [{ kind: 'Ingress', name: 'web' }];
  const single = { targetRefs, basicAuth: { secretName: 'users' }, rewrite: { target: '/$1' } };
  expect(await review(single, true)).toEqual({ problems: [], warnings: [] });
});

test('lets an invalid policy be changed otherwise', () => {
  const policy = attachedPolicy({}, { ...TARGETS, access: { allow: ['x'] } });
  expect(cluster!.evaluate(request({ ...policy, metadata: { labels: {} } }, policy))).toEqual({});
});

test('warns about a policy without targets', async () => {
  expect((await review({ targetRefs: [] })).warnings).toHaveLength(1);
});
