import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactCustomResource, redactObject } from './redact-object.ts';

const OURS = { 'app.kubernetes.io/part-of': 'tidegate' };
const deployment = (container: object, labels: Record<string, string> = {}): object => ({
  kind: 'Deployment',
  metadata: { name: 'app' },
  spec: { replicas: 2, template: { metadata: { labels }, spec: { containers: [container] } } },
});
const dumped = (resource: string, object: unknown): string =>
  JSON.stringify(redactObject({ resource }, object));

describe('the arguments of a container', () => {
  const args = [
    'manager',
    '--parts=apps',
    '--webhook-port',
    '9443',
    '--token',
    'hunter22',
    '--pin=hunter22',
    'hunter22',
  ];

  it('are kept if they are known ones of Tidegate', () => {
    const text = dumped('deployments', deployment({ name: 'manager', args }, OURS));
    expect(text).toContain(
      '["manager","--parts=apps","--webhook-port","9443","--token","<removed>","--pin=<removed>","<removed>"]',
    );
  });

  it('are removed if another program runs in the same namespace', () => {
    const text = dumped(
      'deployments',
      deployment({ name: 'manager', args, command: ['sh', '-c', 'hunter22'] }),
    );
    expect(text).toContain('"args":"<removed>","command":"<removed>"');
  });
});

it('variables lose their values, and keep references', () => {
  const env = [
    { name: 'OS_PASSWORD', value: 'hunter22' },
    { name: 'OS_REGION_NAME', value: 'paris' },
    { name: 'OS_AUTH', valueFrom: { secretKeyRef: { name: 'cloud', key: 'auth' } } },
  ];
  const text = dumped('deployments', deployment({ name: 'manager', env }, OURS));
  expect(text).not.toMatch(/hunter22|paris/);
  expect(text).toContain('OS_REGION_NAME');
  expect(text).toContain('"secretKeyRef":{"name":"cloud","key":"auth"}');
});

it('an Ingress keeps its rules, and annotations that cannot be credentials', () => {
  const rules = [{ host: 'shop.example.com', http: { paths: [{ path: '/a', pathType: 'Prefix' }] } }];
  const tls = [{ hosts: ['shop.example.com'], secretName: 'shop-tls' }];
  const prefix = 'nginx.ingress.kubernetes.io';
  const annotations = {
    [`${prefix}/use-regex`]: 'true',
    [`${prefix}/configuration-snippet`]: 'proxy_set_header X-Key hunter22;',
    'example.com/note': 'hunter22',
    'kubectl.kubernetes.io/last-applied-configuration': '{"a":"hunter22"}',
  };
  const text = dumped('ingresses', { metadata: { name: 'shop', annotations }, spec: { rules, tls } });
  expect(text).toContain(JSON.stringify({ rules, tls }));
  expect(text).toContain(`"${prefix}/use-regex":"true"`);
  expect(text).toContain(`"${prefix}/configuration-snippet":"<removed>"`);
  expect(text).not.toContain('hunter22');
});

it('an Ingress loses queries in annotations', () => {
  const prefix = 'nginx.ingress.kubernetes.io';
  const annotations = {
    [`${prefix}/rewrite-target`]: '/x?key=hunter22',
    [`${prefix}/app-root`]: '/login?hunter22',
  };
  const text = dumped('ingresses', { metadata: { name: 'shop', annotations } });
  expect(text).toContain(`"${prefix}/rewrite-target":"/x?key=<removed>"`);
  expect(text).not.toContain('hunter22');
});

it('an EdgeApplication keeps which objects it has, and for which pools', () => {
  const object = {
    kind: 'EdgeApplication',
    metadata: { name: 'shop', managedFields: [1] },
    spec: {
      workloadTemplate: {
        manifests: [
          { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'till' }, data: { pin: 'MTIzNA==' } },
        ],
      },
      workloadScope: {
        targetNodeGroups: [
          { name: 'east', overriders: { argsOverriders: [{ operator: 'add', value: ['1234'] }] } },
        ],
      },
    },
  };
  expect(redactCustomResource(object)).toEqual({
    kind: 'EdgeApplication',
    metadata: { name: 'shop', managedFields: '<removed>' },
    spec: {
      workloadTemplate: {
        manifests: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'till' }, data: '<removed>' }],
      },
      workloadScope: {
        targetNodeGroups: [
          { name: 'east', overriders: { argsOverriders: [{ operator: '<removed>', value: ['<removed>'] }] } },
        ],
      },
    },
  });
});

/** Values of any type that contain the secret, below keys that are also names of fields that are kept. */
const SECRET = 's3cr0t';
const NUMBER = 7_331_733_117;
const keys = fc.constantFrom(
  'name',
  'host',
  'kind',
  'message',
  'path',
  'image',
  'x',
  'value',
  'password',
  '__proto__',
);
const planted = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(SECRET, NUMBER, `a ${SECRET}`, [SECRET]),
    fc.dictionary(keys, tie('any'), { maxKeys: 3 }),
    fc.array(tie('any'), { maxLength: 2 }),
  ),
})).any;
const text = fc.constantFrom(SECRET, `x=${SECRET}`, `{"name":"${SECRET}"}`);
const map = fc.dictionary(keys, text, { maxKeys: 3 });

/** Objects with the secret in every place that users can fill with what they like. */
const metadata = fc.record({
  name: fc.constant('shop'),
  annotations: fc.dictionary(
    fc.constantFrom(
      'a.example.com/b',
      'nginx.ingress.kubernetes.io/auth-url',
      'token',
      'x.tidegate.io/password',
      'networking.tidegate.io/api-key',
      'apps.openyurt.io/x',
    ),
    text,
  ),
  managedFields: planted,
});
const container = fc.record({
  name: fc.constant('app'),
  args: fc.array(text),
  command: fc.array(text),
  env: fc.array(fc.record({ name: fc.constant('PIN'), value: text })),
  lifecycle: planted,
  livenessProbe: fc.record({
    exec: fc.record({ command: fc.array(text) }),
    httpGet: fc.record({ path: fc.constant(`/?token=${SECRET}`), httpHeaders: planted }),
  }),
});
const podSpec = fc.record({
  containers: fc.array(container, { maxLength: 2 }),
  initContainers: fc.array(container, { maxLength: 1 }),
  ephemeralContainers: planted,
  volumes: fc.array(
    fc.record({
      name: fc.constant('v'),
      csi: fc.record({ driver: text, volumeAttributes: map }),
      flexVolume: fc.record({ options: map }),
      iscsi: planted,
    }),
    { maxLength: 1 },
  ),
});
const labels = fc.constantFrom({}, OURS, { 'networking.tidegate.io/router': 'shop' });
const objects = fc.oneof(
  fc.record({
    resource: fc.constant('configmaps'),
    object: fc.record({ metadata, data: map, binaryData: map }),
  }),
  fc.record({
    resource: fc.constant('secrets'),
    object: fc.record({ metadata, data: map, stringData: map }),
  }),
  fc.record({
    resource: fc.constant('deployments'),
    object: fc.record({
      metadata,
      spec: fc.record({
        template: fc.record({ metadata: fc.record({ labels, annotations: map }), spec: podSpec }),
      }),
    }),
  }),
  fc.record({
    resource: fc.constant('pods'),
    object: fc.record({
      metadata,
      spec: podSpec,
      status: fc.record({
        message: fc.constantFrom(
          `password: ${SECRET}`,
          `cannot open redis://${SECRET}@cache`,
          `--token ${SECRET}`,
        ),
        other: planted,
        containerStatuses: fc.array(
          fc.record({
            lastState: fc.record({ terminated: fc.record({ message: fc.constant(`login with ${SECRET}`) }) }),
          }),
          { maxLength: 1 },
        ),
      }),
    }),
  }),
  fc.record({
    resource: fc.constantFrom(
      'services',
      'leases',
      'nodes',
      'ingresses',
      'ingressclasses',
      'endpointslices',
      'events',
    ),
    object: fc.record({ metadata, spec: fc.record({ unknown: planted }), unknown: planted }),
  }),
  fc.record({
    resource: fc.constantFrom('validatingwebhookconfigurations', 'mutatingwebhookconfigurations'),
    object: fc.record({
      metadata,
      webhooks: fc.array(fc.record({ clientConfig: fc.record({ url: text, caBundle: text }) })),
    }),
  }),
);
const applications = fc.record({
  metadata,
  spec: fc.record({
    workloadTemplate: fc.record({
      manifests: fc.array(
        fc.record({
          kind: fc.constant('Pod'),
          metadata,
          spec: planted,
          data: planted,
          stringData: planted,
          x: planted,
        }),
        { maxLength: 2 },
      ),
    }),
    workloadScope: fc.record({
      targetNodeGroups: fc.array(fc.record({ name: fc.constant('east'), overriders: planted }), {
        maxLength: 2,
      }),
    }),
    password: planted,
    parameters: map,
    annotations: map,
  }),
});

it('no secret leaves an object, wherever users have written it', () => {
  fc.assert(
    fc.property(objects, ({ resource, object }) => {
      const text = dumped(resource, object);
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(String(NUMBER));
    }),
    { numRuns: 1000 },
  );
  fc.assert(
    fc.property(applications, (object) => {
      const text = JSON.stringify(redactCustomResource(object));
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(String(NUMBER));
    }),
    { numRuns: 500 },
  );
});
