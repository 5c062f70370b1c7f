import { readFile } from 'node:fs/promises';
import type { ClusterRole, Deployment, KubeObject, Service } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type L7Router, type L7RouterSpec, MOST_SECTIONS, sectionPorts } from '../../api/index.ts';
import { isAsWanted, withMadeFrom } from './as-wanted.ts';
import { workloadName } from './identity.ts';
import { sharedPodsRefusal } from './pod-members.ts';
import { objectsFor } from './workload.ts';

const router = (spec: Partial<L7RouterSpec> = {}, name = 'gold'): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name, uid: 'u1' },
  spec: { ingressClassName: 'gold', driver: 'nginx', ...spec },
});
const made = <T extends KubeObject>(kind: string, spec: Partial<L7RouterSpec> = {}): T =>
  objectsFor(router(spec), 'tidegate:1').find((object) => object.kind === kind) as T;

describe('workloadName', () => {
  test('returns valid names of Services', () => {
    expect(workloadName('gold-2')).toBe('tidegate-router-gold-2');
    const long = workloadName(`${'x'.repeat(40)}.example-2`);
    expect(long).toMatch(/^[a-z][a-z0-9-]{0,62}$/);
    expect(workloadName('a.b')).not.toBe(workloadName('a-b'));
  });
});

describe('objectsFor', () => {
  test('keeps the addresses of clients if the router asks for it', () => {
    expect(made<Service>('Service').spec).not.toHaveProperty('externalTrafficPolicy');
    const workload = { externalTrafficPolicy: 'Local' as const };
    expect(made<Service>('Service', { workload }).spec).toMatchObject({ externalTrafficPolicy: 'Local' });
  });

  test('restarts pods only for the PROXY protocol, not for other settings of clients', () => {
    const argumentsOf = (spec: Partial<L7RouterSpec>) =>
      made<Deployment>('Deployment', spec).spec?.template.spec?.containers[0]?.args;
    const trusting = { trustedProxies: ['10.0.0.0/8'], header: 'X-Forwarded-For', httpsPort: 8443 };
    expect(argumentsOf({ clients: trusting })).toEqual(argumentsOf({}));
    expect(argumentsOf({ ingressDefaults: { 'proxy-body-size': '8m' } })).toEqual(argumentsOf({}));
    expect(argumentsOf({ clients: { ...trusting, proxyProtocol: true } })).toContain('--proxy-protocol');
  });

  test('makes the router the owner of all objects', () => {
    const objects = objectsFor(router(), 'tidegate:1');
    expect(objects.map(({ kind }) => kind)).toEqual([
      'ServiceAccount',
      'ClusterRole',
      'ClusterRoleBinding',
      'Service',
      'Deployment',
    ]);
    for (const { metadata } of objects) {
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'L7Router', name: 'gold', uid: 'u1' }]);
      expect(metadata.labels).toMatchObject({ 'networking.tidegate.io/router': 'gold' });
    }
  });

  test('has the labels and ports that the network policy in deploy limits', async () => {
    const text = await readFile(
      new URL('../../../../../deploy/base/network-policy.yaml', import.meta.url),
      'utf8',
    );
    const policy = parseAllDocuments(text)
      .map((document) => document.toJS())
      .find(({ metadata }) => metadata.name === 'tidegate-routers');
    const { namespace, template } = {
      ...made<Deployment>('Deployment').metadata,
      ...made<Deployment>('Deployment').spec,
    };
    expect(policy.metadata.namespace).toBe(namespace);
    expect(Object.keys(template?.metadata?.labels ?? {})).toContain(
      policy.spec.podSelector.matchExpressions[0].key,
    );
    const portsOf = ({ ports }: { ports: { port: string | number }[] }): string[] =>
      ports.flatMap(({ port }) => (typeof port === 'string' ? [port] : []));
    const [clients, monitoring] = policy.spec.ingress;
    const [first, last] = [sectionPorts(1), sectionPorts(MOST_SECTIONS)];
    expect(clients.ports).toMatchObject([
      {},
      {},
      { port: first.http, endPort: last.http },
      { port: first.https, endPort: last.https },
    ]);
    expect(template?.spec?.containers[0]?.ports?.map(({ name }) => name)).toEqual([
      ...portsOf(clients),
      ...portsOf(monitoring),
    ]);
    expect([clients.from, portsOf(monitoring)]).toEqual([undefined, ['admin']]);
  });

  test('runs the agent with the classes, the pool and the data plane of the router', () => {
    const { spec } = made<Deployment>('Deployment', {
      driver: 'embedded',
      sharedWith: ['silver'],
      pool: 'paris',
      workload: { replicas: 2, image: 'other:2' },
    });
    const [container] = spec?.template.spec?.containers ?? [];
    expect(spec?.replicas).toBe(2);
    expect(container?.image).toBe('other:2');
    expect(container?.args?.slice(0, 5)).toEqual([
      'router',
      '--class=gold',
      '--router=gold',
      '--pool=paris',
      '--data-plane=embedded',
    ]);
  });

  test('schedules pods in the pool, of either kind, and on different nodes', () => {
    const { affinity, tolerations } =
      made<Deployment>('Deployment', { pool: 'paris', workload: { replicas: 2 } }).spec?.template.spec ?? {};
    const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
    expect(terms?.map(({ matchExpressions }) => matchExpressions?.[0]?.key)).toEqual([
      'apps.openyurt.io/nodepool',
      'apps.kubeedge.io/belonging-to',
    ]);
    expect(affinity?.podAntiAffinity).toBeDefined();
    expect(tolerations).toEqual([{ operator: 'Exists' }]);
    const anywhere = made<Deployment>('Deployment').spec?.template.spec?.affinity;
    expect(anywhere?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toBeUndefined();
    expect(anywhere?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toMatchObject([
      { preference: { matchExpressions: [{ operator: 'DoesNotExist' }, { operator: 'DoesNotExist' }] } },
    ]);
    expect(made('PodDisruptionBudget', { workload: { replicas: 2 } })).toBeDefined();
  });

  test('requires nodes outside of pools for a router without a pool, if there are any', () => {
    const affinityOf = (spec: Partial<L7RouterSpec>) =>
      (
        objectsFor(router(spec), 'tidegate:1', undefined, 'required').find(
          ({ kind }) => kind === 'Deployment',
        ) as Deployment
      ).spec?.template.spec?.affinity?.nodeAffinity;
    expect(affinityOf({})).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          {
            matchExpressions: [
              { key: 'apps.openyurt.io/nodepool', operator: 'DoesNotExist' },
              { key: 'apps.kubeedge.io/belonging-to', operator: 'DoesNotExist' },
            ],
          },
        ],
      },
    });
    expect(affinityOf({ pool: 'paris' })).toEqual(
      made<Deployment>('Deployment', { pool: 'paris' }).spec?.template.spec?.affinity?.nodeAffinity,
    );
  });

  test('does not change the workload when a class joins', () => {
    const joined = { sharedWith: ['silver', 'bronze'] };
    expect(made<Deployment>('Deployment', joined)).toEqual(made<Deployment>('Deployment'));
  });

  test('does not change the pod template when the number of replicas changes', () => {
    const [one, two] = [1, 2].map((replicas) => made<Deployment>('Deployment', { workload: { replicas } }));
    expect(one?.spec?.template).toEqual(two?.spec?.template);
  });

  test('restricts the Service to the pool', () => {
    expect(made<Service>('Service', { pool: 'paris' }).metadata.annotations).toEqual({
      'nodeport.openyurt.io/listen': 'paris',
      'openyurt.io/topologyKeys': 'openyurt.io/nodepool',
    });
    expect(made<Service>('Service').metadata.annotations).toBeUndefined();
  });

  test('creates the Service with the settings of the workload', () => {
    expect(made<Service>('Service').spec).toMatchObject({
      type: 'NodePort',
      ports: [{ port: 80 }, { port: 443 }],
    });
    const workload = {
      namespace: 'doors',
      serviceType: 'LoadBalancer' as const,
      addresses: ['203.0.113.7'],
      httpPort: 8000,
      nodePorts: { http: 30080 },
    };
    const { metadata, spec } = made<Service>('Service', { workload });
    expect(metadata.namespace).toBe('doors');
    expect(spec).toMatchObject({
      type: 'LoadBalancer',
      externalIPs: ['203.0.113.7'],
      ports: [
        { name: 'http', port: 8000, nodePort: 30080 },
        { name: 'https', port: 443 },
      ],
    });
  });

  test('grants no access to Secrets, and write access to its own status only', () => {
    const { rules = [] } = made<ClusterRole>('ClusterRole');
    expect(rules.flatMap(({ resources }) => resources ?? [])).not.toContain('secrets');
    const writing = rules.filter(({ verbs }) =>
      verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)),
    );
    expect(writing).toEqual([
      {
        apiGroups: ['networking.tidegate.io'],
        resources: ['l7routers/status'],
        resourceNames: ['gold'],
        verbs: ['patch'],
      },
    ]);
  });
});

describe('isAsWanted', () => {
  const wanted = withMadeFrom({ ...made<Deployment>('Deployment') });

  test('accepts objects with additional fields', () => {
    expect(isAsWanted(undefined, wanted)).toBe(false);
    const defaulted = structuredClone(wanted);
    defaulted.spec!.progressDeadlineSeconds = 600;
    defaulted.spec!.template.spec!.containers.push({ name: 'sidecar' });
    expect(isAsWanted(defaulted, wanted)).toBe(true);
  });

  test('rejects objects that were changed, or that were provisioned from another spec', () => {
    const changed = structuredClone(wanted);
    changed.spec!.template.spec!.containers[0]!.args!.push('--more');
    expect(isAsWanted(changed, wanted)).toBe(false);
    expect(isAsWanted(withMadeFrom({ ...made<Deployment>('Deployment', { pool: 'paris' }) }), wanted)).toBe(
      false,
    );
  });
});

describe('routers that share pods', () => {
  const member = (name: string, section: number | undefined, more: Partial<L7RouterSpec> = {}): L7Router => {
    const workload = { sharedPods: 'front', ...(section !== undefined && { section }) };
    const made = router({ ingressClassName: name, workload, ...more }, name);
    return { ...made, metadata: { ...made.metadata, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' } };
  };
  const members = [member('gold', 1), member('silver', 2)];
  const of = <T extends KubeObject>(kind: string, each: L7Router, all = members): T =>
    objectsFor(each, 'tidegate:1', undefined, undefined, all).find((object) => object.kind === kind) as T;

  test('have one Deployment that does not depend on which of them there are', () => {
    const [first, second] = members.map((each) => of<Deployment>('Deployment', each));
    expect(first).toEqual(second);
    const alone = of<Deployment>('Deployment', members[0]!, [members[0]!]);
    expect(alone.spec).toEqual(first?.spec);
    expect(first?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['gold', 'silver']);
    expect(first?.spec?.template.spec?.containers[0]?.args?.slice(0, 2)).toEqual([
      'router',
      '--shared-pods=front',
    ]);
    expect(first?.metadata.name).not.toBe(workloadName('pods-front'));
  });

  test('have a Service each, which leads to the ports of their section', () => {
    const [gold, silver] = members.map((each) => of<Service>('Service', each));
    expect(gold?.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual([20_001, 21_001]);
    expect(silver?.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual([20_002, 21_002]);
    expect(gold?.spec?.selector).toEqual(
      of<Deployment>('Deployment', members[0]!).spec?.selector?.matchLabels,
    );
    expect(gold?.spec?.selector).toEqual(silver?.spec?.selector);
  });

  test('may write only their own status', () => {
    const { rules = [] } = of<ClusterRole>('ClusterRole', members[1]!);
    const writing = (rules ?? []).filter(({ verbs }) => !verbs.includes('list'));
    expect(writing).toMatchObject([{ resources: ['l7routers/status'], resourceNames: ['silver'] }]);
  });

  test('are refused without a free section, or with the section or driver of an older one', () => {
    expect(members.map((each) => sharedPodsRefusal(each, members))).toEqual([undefined, undefined]);
    const refusalOf = (each: L7Router) => sharedPodsRefusal(each, [...members, each]);
    expect(refusalOf(member('tin', undefined))).toContain('all sections of the shared pods front are in use');
    expect(refusalOf(member('tin', 2))).toContain('L7Router silver has section 2');
    expect(refusalOf(member('tin', 3, { driver: 'embedded' }))).toContain('with another driver or pool');
  });
});
