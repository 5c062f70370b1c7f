import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPki } from '../../auth/pki.ts';
import { type ObjectStore, openObjects } from '../../auth/testing.ts';
import type { AdmissionAttributes } from '../../operations/core.ts';
import { configmaps } from '../../resources/config/configmap.ts';
import { extensionsIngresses, ingresses } from '../../resources/ingress/ingress.ts';
import { validatingwebhookconfigurations } from '../../resources/webhooks/definition.ts';
import type { Webhook } from '../../resources/webhooks/types.ts';
import { Registry } from '../../served/registry.ts';
import { AdmissionWebhooks } from './webhooks.ts';

interface Asked {
  path: string;
  request: Record<string, unknown> & { uid: string; object: KubeObject; kind: object };
}

/** The response of the webhook for a path: fields of the AdmissionReview response, or raw bytes. */
type Answer = (asked: Asked) => object | string | number | 'hang' | 'reset';

const directory = mkdtempSync(join(tmpdir(), 'webhooks-'));
const pki = openPki({ directory, hosts: ['hook.shop.svc'] });
const caBundle = Buffer.from(pki.ca).toString('base64');
let server: Server;
let port: number;
let answers: Record<string, Answer>;
let asked: Asked[];
let store: ObjectStore;
let webhooks: AdmissionWebhooks;
let warnings: string[];

beforeAll(async () => {
  server = createServer({ cert: pki.serving.certificate, key: pki.serving.key }, (incoming, response) => {
    let text = '';
    incoming.on('data', (chunk) => {
      text += chunk;
    });
    incoming.on('end', () => {
      const review = JSON.parse(text);
      const one = { path: incoming.url!.split('?')[0]!, request: review.request };
      asked.push(one);
      const answer = answers[one.path]?.(one) ?? 404;
      if (answer === 'reset') incoming.socket.destroy();
      else if (typeof answer === 'number') response.writeHead(answer).end('boom\n');
      else if (typeof answer === 'string' && answer !== 'hang') response.end(answer);
      else if (typeof answer === 'object') {
        const { apiVersion, kind } = review;
        response.end(JSON.stringify({ apiVersion, kind, response: { uid: review.request.uid, ...answer } }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as { port: number }).port;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});

const registry = new Registry();
for (const one of [configmaps, ingresses, extensionsIngresses, validatingwebhookconfigurations])
  registry.set(one);

beforeEach(async () => {
  store = await openObjects();
  answers = { '/allow': () => ({ allowed: true }) };
  asked = [];
  warnings = [];
  webhooks = new AdmissionWebhooks({
    store,
    registry,
    authorizer: { authorize: (user) => ({ allowed: user.username === 'jane', reason: '' }) },
  });
  const namespace = { apiVersion: 'v1', kind: 'Namespace' };
  await store.put('namespaces', { ...namespace, metadata: { name: 'shop', labels: { tier: 'web' } } });
  return () => {
    webhooks.close();
    return store.dispose();
  };
});

const hook = (path: string, more: Partial<Webhook> = {}): Webhook => ({
  name: 'w.example.com',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  timeoutSeconds: 5,
  rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['v1'], resources: ['*'], scope: '*' }],
  clientConfig: { url: `https://127.0.0.1:${port}${path}`, caBundle },
  ...more,
});

const configure = (kind: 'mutating' | 'validating', name: string, ...list: Webhook[]): Promise<unknown> =>
  store.put(`admissionregistration.k8s.io/${kind}webhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'x',
    metadata: { name },
    webhooks: list,
  });

const configmap = (data: Record<string, string> = {}, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'shop', labels },
  data,
});

const attributes = (more: Partial<AdmissionAttributes> = {}): AdmissionAttributes => ({
  operation: 'CREATE',
  served: registry.lookup('', 'v1', 'configmaps')!,
  subresource: '',
  namespace: 'shop',
  name: 'c',
  object: configmap(),
  oldObject: undefined,
  user: { username: 'jane', groups: ['dev'] },
  dryRun: false,
  options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
  warn: (message) => warnings.push(message),
  ...more,
});

const patchOf = (...operations: object[]): object => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

describe('validating', () => {
  it('sends the same request as kube-apiserver', async () => {
    await configure('validating', 'a', hook('/allow'));
    await webhooks.validate(attributes());
    expect(asked).toEqual([
      {
        path: '/allow',
        request: {
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          kind: { group: '', version: 'v1', kind: 'ConfigMap' },
          resource: { group: '', version: 'v1', resource: 'configmaps' },
          requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
          requestResource: { group: '', version: 'v1', resource: 'configmaps' },
          name: 'c',
          namespace: 'shop',
          operation: 'CREATE',
          userInfo: { username: 'jane', groups: ['dev'] },
          object: configmap(),
          oldObject: null,
          dryRun: false,
          options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
        },
      },
    ]);
  });

  it.each<[object, number, string]>([
    [{ status: { message: 'no way' } }, 400, 'admission webhook "w.example.com" denied the request: no way'],
    [
      { status: { code: 403, reason: 'Forbidden', message: 'nope' } },
      403,
      'admission webhook "w.example.com" denied the request: nope',
    ],
    [{ status: { reason: 'Because' } }, 400, 'admission webhook "w.example.com" denied the request: Because'],
    [{}, 400, 'admission webhook "w.example.com" denied the request without explanation'],
  ])('passes a denial on: %j', async (status, code, message) => {
    answers['/deny'] = () => ({ allowed: false, warnings: ['careful'], ...status });
    await configure('validating', 'a', hook('/allow'), hook('/deny'));
    const error = await webhooks.validate(attributes()).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).status).toMatchObject({ code, message });
    expect(warnings).toEqual(['careful']);
  });

  const failures: [string, Answer | undefined, Partial<Webhook>, string][] = [
    [
      'hangs',
      () => 'hang',
      { timeoutSeconds: 0.05 },
      'failed to call webhook: Post "https://127.0.0.1:PORT/x?timeout=0.05s": context deadline exceeded',
    ],
    [
      'closes the connection',
      () => 'reset',
      {},
      'failed to call webhook: Post "https://127.0.0.1:PORT/x?timeout=5s": EOF',
    ],
    [
      'fails',
      () => 500,
      {},
      'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
    ],
    [
      'does not exist',
      () => 404,
      {},
      'failed to call webhook: the server could not find the requested resource',
    ],
    [
      'returns no response',
      () => '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
      {},
      'received invalid webhook response: webhook response was absent',
    ],
    [
      'returns truncated JSON',
      () => '{"a":',
      {},
      "failed to call webhook: couldn't get version/kind; json parse error: unexpected end of JSON input",
    ],
    [
      'answers another request',
      () => ({ uid: 'other', allowed: true }),
      {},
      'received invalid webhook response: expected response.uid="UID", got "other"',
    ],
    [
      'omits kind and apiVersion',
      ({ request }) => JSON.stringify({ response: { uid: request.uid, allowed: true } }),
      {},
      'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=',
    ],
    [
      'returns a patch although it validates',
      () => patchOf(),
      {},
      'received invalid webhook response: validating webhook may not return response.patch',
    ],
    [
      'has an untrusted certificate',
      undefined,
      { clientConfig: { url: 'https://127.0.0.1:PORT/x' } },
      'failed to call webhook: Post "https://127.0.0.1:PORT/x?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    ],
    [
      'is down',
      undefined,
      { clientConfig: { url: 'https://127.0.0.1:1/x' } },
      'failed to call webhook: Post "https://127.0.0.1:1/x?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
    ],
    [
      'names a service that does not exist',
      undefined,
      { clientConfig: { service: { name: 'nope', namespace: 'shop', path: '/foo' } } },
      'failed to call webhook: Post "https://nope.shop.svc:443/foo?timeout=5s": service "nope" not found',
    ],
    [
      'supports no known version',
      undefined,
      { admissionReviewVersions: ['v2'] },
      'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)',
    ],
  ];
  it.each(failures)('a webhook that %s', async (_what, answer, more, message) => {
    if (answer !== undefined) answers['/x'] = answer;
    const url = more.clientConfig?.url?.replace('PORT', String(port));
    const fixed = url === undefined ? more : { ...more, clientConfig: { url } };
    await configure('validating', 'a', hook('/x', fixed));
    const expected = message.replaceAll('PORT', String(port));
    const error = (await webhooks.validate(attributes()).catch((e: unknown) => e)) as ApiError;
    expect(error.status.code).toBe(500);
    expect(error.message).toBe(
      `Internal error occurred: failed calling webhook "w.example.com": ${expected.replace('UID', asked[0]?.request.uid ?? '')}`,
    );
    await configure('validating', 'a', hook('/x', { ...fixed, failurePolicy: 'Ignore' }));
    await webhooks.validate(attributes());
  });

  it('does not call webhooks with side effects in a dry run', async () => {
    await configure('validating', 'a', hook('/allow', { sideEffects: 'Some', failurePolicy: 'Ignore' }));
    await expect(webhooks.validate(attributes({ dryRun: true }))).rejects.toThrow(
      'admission webhook "w.example.com" does not support dry run',
    );
  });

  it('connects to a ready endpoint of a service and verifies the name of the service', async () => {
    await store.put('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'hook', namespace: 'shop' },
      spec: { clusterIP: '10.96.0.9', ports: [{ name: 'https', port: 443 }] },
    });
    await store.put('discovery.k8s.io/endpointslices', {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'hook-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'hook' } },
      endpoints: [
        { addresses: ['127.0.0.9'], conditions: { ready: false } },
        { addresses: ['127.0.0.1'], conditions: { ready: true } },
      ],
      ports: [{ name: 'https', port }],
    });
    const service = { name: 'hook', namespace: 'shop', path: '/allow' };
    await configure('validating', 'a', hook('', { clientConfig: { service, caBundle } }));
    await webhooks.validate(attributes());
    expect(asked).toHaveLength(1);
  });
});

describe('mutating', () => {
  it('calls webhooks one after the other, sorted by the name of the configuration', async () => {
    const append =
      (letter: string): Answer =>
      ({ request }) => {
        const before = (request.object.data as { x?: string }).x ?? '';
        return patchOf({ op: 'add', path: '/data/x', value: before + letter });
      };
    answers = { '/a': append('a'), '/b': append('b'), '/c': append('c') };
    await configure('mutating', 'z', hook('/c'));
    await configure('mutating', 'y', hook('/a'), hook('/b'));
    expect((await webhooks.mutate(attributes({ object: configmap({ k: 'v' }) })))?.data).toEqual({
      k: 'v',
      x: 'abc',
    });
  });

  it('reinvokes a webhook with reinvocationPolicy IfNeeded after a later change', async () => {
    answers = {
      '/first': () => ({ allowed: true }),
      '/second': () => patchOf({ op: 'add', path: '/data', value: { x: 'y' } }),
    };
    await configure('mutating', 'a', hook('/first', { reinvocationPolicy: 'IfNeeded' }), hook('/second'));
    await webhooks.mutate(attributes());
    expect(asked.map(({ path }) => path)).toEqual(['/first', '/second', '/first']);
  });

  it('returns the same object if nothing changed', async () => {
    answers['/same'] = () => patchOf({ op: 'test', path: '/metadata/name', value: 'c' });
    await configure('mutating', 'a', hook('/allow'), hook('/same'));
    const object = configmap({ a: 'b' }, { x: 'y' });
    expect(await webhooks.mutate(attributes({ object }))).toBe(object);
  });

  it('drops unknown fields and rejects wrong types and failing patches', async () => {
    const change = (patch: object): Promise<KubeObject | undefined> => {
      answers['/p'] = () => patch;
      return webhooks.mutate(attributes());
    };
    await configure('mutating', 'a', hook('/p'));
    expect(await change(patchOf({ op: 'add', path: '/nofield', value: 5 }))).not.toHaveProperty('nofield');
    await expect(change(patchOf({ op: 'add', path: '/data', value: 5 }))).rejects.toThrow(
      'Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string',
    );
    await expect(change(patchOf({ op: 'remove', path: '/nope' }))).rejects.toThrow(
      /^Internal error occurred: /,
    );
    await expect(change({ ...patchOf(), patch: 'eHg=' })).rejects.toThrow(
      `Internal error occurred: failed calling webhook "w.example.com": received undecodable patch in webhook response: invalid character 'x' looking for beginning of value`,
    );
    await expect(change({ allowed: true, patch: 'W10=' })).rejects.toThrow(
      'webhook returned response.patch but not response.patchType',
    );
  });

  it('is less strict with v1beta1 reviews', async () => {
    answers['/p'] = () => ({
      ...patchOf({ op: 'add', path: '/data', value: { x: 'y' } }),
      patchType: null,
      uid: '',
    });
    await configure('mutating', 'a', hook('/p', { admissionReviewVersions: ['v1beta1'] }));
    expect((await webhooks.mutate(attributes()))?.data).toEqual({ x: 'y' });
  });
});

describe('matching', () => {
  async function isAsked(more: Partial<Webhook>, about: Partial<AdmissionAttributes> = {}): Promise<boolean> {
    await configure('validating', 'a', hook('/allow', more));
    asked = [];
    await webhooks.validate(attributes(about));
    return asked.length === 1;
  }
  const rule = (more: object): Partial<Webhook> => ({
    rules: [
      {
        operations: ['*'],
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['configmaps'],
        scope: '*',
        ...more,
      },
    ],
  });

  it.each<[object, boolean]>([
    [{}, true],
    [{ operations: ['UPDATE'] }, false],
    [{ operations: ['UPDATE', 'CREATE'] }, true],
    [{ apiGroups: ['apps'] }, false],
    [{ apiVersions: ['v2'] }, false],
    [{ resources: ['*'] }, true],
    [{ resources: ['*/*'] }, true],
    [{ resources: ['configmaps/status'] }, false],
    [{ scope: 'Namespaced' }, true],
    [{ scope: 'Cluster' }, false],
  ])('rule %j: %s', async (more, expected) => {
    expect(await isAsked(rule(more))).toBe(expected);
  });

  it('matches subresources only by name', async () => {
    const status = { subresource: 'status' };
    expect(await isAsked(rule({ resources: ['*'] }), status)).toBe(false);
    expect(await isAsked(rule({ resources: ['*/status'] }), status)).toBe(true);
    expect(await isAsked(rule({ resources: ['configmaps/*'] }), status)).toBe(true);
  });

  it('applies the selectors of namespaces and objects', async () => {
    const select = (tier: string): { matchLabels: Record<string, string> } => ({ matchLabels: { tier } });
    expect(await isAsked({ namespaceSelector: select('web') })).toBe(true);
    expect(await isAsked({ namespaceSelector: select('db') })).toBe(false);
    expect(await isAsked({ objectSelector: select('web') })).toBe(false);
    const object = configmap({}, { tier: 'web' });
    expect(await isAsked({ objectSelector: select('web') }, { object })).toBe(true);
    expect(await isAsked({ objectSelector: select('web') }, { operation: 'UPDATE', oldObject: object })).toBe(
      true,
    );
  });

  it('skips a webhook if any match condition is false, even if another one fails', async () => {
    const when = (...expressions: string[]): Partial<Webhook> => ({
      matchConditions: expressions.map((expression) => ({ name: 'x', expression })),
    });
    const name = "request.name == 'c' && object.metadata.name == 'c' && oldObject == null";
    expect(await isAsked(when('true', name))).toBe(true);
    expect(await isAsked(when('object.spec.nope', "request.operation == 'DELETE'"))).toBe(false);
    await expect(isAsked(when('true', 'object.nope == 1'))).rejects.toThrow(/^configmaps "c" is forbidden: /);
    expect(await isAsked({ ...when('object.nope == 1'), failurePolicy: 'Ignore' })).toBe(false);
    const may = "authorizer.group('').resource('pods').check('get').allowed()";
    expect(await isAsked(when(may))).toBe(true);
    expect(await isAsked(when(may.replace('.group', ".serviceAccount('a', 'b').group")))).toBe(false);
  });

  it('never calls webhooks for webhook configurations', async () => {
    const served = registry.lookup('admissionregistration.k8s.io', 'v1', 'validatingwebhookconfigurations')!;
    expect(await isAsked({}, { served })).toBe(false);
  });

  it('converts an equivalent resource to the version that the webhook expects', async () => {
    const served = registry.lookup('extensions', 'v1beta1', 'ingresses')!;
    const object: KubeObject = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'i', namespace: 'shop' },
      spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
    };
    const networking = rule({ apiGroups: ['networking.k8s.io'], resources: ['ingresses'] });
    expect(await isAsked({ ...networking, matchPolicy: 'Exact' }, { served, object })).toBe(false);
    expect(await isAsked(networking, { served, object })).toBe(true);
    expect(asked[0]?.request).toMatchObject({
      kind: { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress' },
      requestKind: { group: 'extensions', version: 'v1beta1', kind: 'Ingress' },
      object: { apiVersion: 'networking.k8s.io/v1', spec: { defaultBackend: { service: { name: 's' } } } },
    });
    const legacy = rule({ apiGroups: ['extensions'], apiVersions: ['v1beta1'], resources: ['ingresses'] });
    expect(await isAsked(legacy, { served, object })).toBe(true);
    expect(asked[0]?.request.object).toMatchObject({
      apiVersion: 'extensions/v1beta1',
      spec: { backend: { serviceName: 's', servicePort: 80 } },
    });
  });
});
