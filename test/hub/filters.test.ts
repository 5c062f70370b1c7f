/**
 * What each program sees of the cluster, depending on its node and its name: every filter, through the
 * listeners of the hub.
 */

import {
  CONFIG_MAPS,
  type ConfigMap,
  ENDPOINT_SLICES,
  ENDPOINTS,
  type EndpointSlice,
  type Endpoints,
  type KubeClient,
  type KubeObject,
  NODES,
  PODS,
  type Pod,
  SERVICES,
  type Service,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import { Edge, HUB_ADDRESS, NODE } from '../support/edge.ts';
import {
  configMap,
  nodesIn,
  pod,
  proxyToken,
  service,
  setPool,
  slice,
  soon,
} from '../support/edge-objects.ts';
import { type Frame, say, Watching } from '../support/wire.ts';

let edge: Edge;
let kubelet: KubeClient;
let proxy: KubeClient;
let token: string;
let plain: KubeClient;

const IN_POOL = { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' };
const ON_NODE = { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' };
const KUBERNETES = { namespace: 'default', name: 'kubernetes' };
const KUBECONFIG = `apiVersion: v1
kind: Config
clusters:
  - name: default
    cluster:
      server: https://10.0.0.1:6443 # the real one
`;

beforeAll(async () => {
  edge = await Edge.start();
  kubelet = edge.node();
  token = await proxyToken(edge);
  proxy = edge.bearer(token, 'kube-proxy');
  plain = edge.bearer(token, 'something-else');
  await kubelet.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await makeServices();
});
afterAll(() => edge.stop());

const MEMBERS = [NODE, 'near', 'far'];

/** Services of every scope, each with endpoints on three nodes, two of them in the pool. */
async function makeServices(): Promise<void> {
  await setPool(edge.admin, 'north', [NODE, 'near']);
  for (const [name, annotations] of [
    ['anywhere', {}],
    ['in-pool', IN_POOL],
    ['on-node', ON_NODE],
  ] as const) {
    await edge.admin.create(SERVICES, service(name, { annotations }));
    await edge.admin.create(ENDPOINT_SLICES, slice(name, MEMBERS));
  }
  await edge.admin.create(ENDPOINT_SLICES, slice('unknown', MEMBERS));
}

const named = <T extends KubeObject>(items: T[], name: string): T | undefined =>
  items.find(({ metadata }) => metadata.name === name);
const namesOf = (items: KubeObject[]): string[] => items.map(({ metadata }) => metadata.name ?? '');

/** The last state of an object in a watch; undefined if it was deleted or never shown. */
function shown(frames: Frame[], name: string): KubeObject | undefined {
  const last = frames.filter(({ object }) => object.metadata.name === name).at(-1);
  return last === undefined || last.type === 'DELETED' ? undefined : last.object;
}

const watchAs = (program: string, path: string): Promise<Watching> =>
  Watching.open(edge.asBearer(token, program), `${path}?watch=1&resourceVersion=0`);
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

describe('masterservice', () => {
  it('shows the hub as the Service kubernetes to the kubelet, for get, list and watch, and to no other program', async () => {
    const isHub = (object: KubeObject | undefined): unknown =>
      expect((object as Service).spec).toMatchObject({
        clusterIP: HUB_ADDRESS,
        clusterIPs: [HUB_ADDRESS],
        ports: [{ name: 'https', port: edge.ports.https }],
      });
    isHub(await kubelet.get(SERVICES, KUBERNETES));
    isHub(named((await kubelet.list(SERVICES)).items, 'kubernetes'));
    const watch = await Watching.open(
      { ...edge.asNode, headers: { 'user-agent': 'kubelet/v1.36.4' } },
      '/api/v1/services?watch=1&resourceVersion=0',
    );
    await soon(() => isHub(shown(watch.frames, 'kubernetes')));
    watch.close();
    const real = await edge.admin.get(SERVICES, KUBERNETES);
    expect(await edge.node('other').get(SERVICES, KUBERNETES)).toEqual(real);
    expect(await proxy.get(SERVICES, KUBERNETES)).toEqual(real);
  });
});

describe('forwardkubesvctraffic', () => {
  it('shows the hub to kube-proxy as the only endpoint of the Service kubernetes', async () => {
    const { items } = await proxy.list(ENDPOINT_SLICES, { namespace: 'default' });
    expect(named(items, 'kubernetes')).toMatchObject({
      endpoints: [{ addresses: [HUB_ADDRESS], conditions: { ready: true }, nodeName: NODE }],
      ports: [{ name: 'https', port: edge.ports.https }],
    });
    expect(((await proxy.get(ENDPOINTS, KUBERNETES)) as Endpoints).subsets).toMatchObject([
      { addresses: [{ ip: HUB_ADDRESS }], ports: [{ port: edge.ports.https }] },
    ]);
    const real = await edge.admin.get(ENDPOINT_SLICES, KUBERNETES);
    expect(await plain.get(ENDPOINT_SLICES, KUBERNETES)).toEqual(real);
  });
});

describe('discardcloudservice', () => {
  it('hides load balancers of the cloud from kube-proxy, and Services that become one', async () => {
    const discarded = { annotations: { 'svc.openyurt.io/discard': 'true' }, type: 'LoadBalancer' };
    await edge.admin.create(SERVICES, service('cloud', discarded));
    await edge.admin.create(SERVICES, service('turns', { type: 'LoadBalancer' }));
    const watch = await watchAs('kube-proxy', '/api/v1/services');
    await soon(() => expect(shown(watch.frames, 'turns')).toBeDefined());
    expect(shown(watch.frames, 'cloud')).toBeUndefined();
    await expect(proxy.get(SERVICES, { namespace: 'default', name: 'cloud' })).rejects.toMatchObject({
      code: 404,
      message: 'services "cloud" not found',
    });
    expect(namesOf((await plain.list(SERVICES)).items)).toContain('cloud');

    await edge.admin.patch(SERVICES, { namespace: 'default', name: 'turns' }, 'merge', {
      metadata: { annotations: discarded.annotations },
    });
    await soon(() => expect(watch.frames.at(-1)).toMatchObject({ type: 'DELETED' }));
    expect(shown(watch.frames, 'turns')).toBeUndefined();
    watch.close();
  });
});

describe('nodeportisolation', () => {
  it('shows node ports in the selected pools only, also after the node moves', async () => {
    await setPool(edge.admin, 'north', [NODE]);
    for (const [name, listen] of [
      ['np-north', 'north'],
      ['np-south', 'south'],
      ['np-all', '*'],
      ['np-not-north', '*,-north'],
    ])
      await edge.admin.create(
        SERVICES,
        service(name!, { type: 'NodePort', annotations: { 'nodeport.openyurt.io/listen': listen! } }),
      );
    const watch = await watchAs('kube-proxy', '/api/v1/services');
    const ports = (): string[] =>
      ['np-north', 'np-south', 'np-all', 'np-not-north'].filter((name) => shown(watch.frames, name));
    await soon(() => expect(ports()).toEqual(['np-north', 'np-all']));
    await setPool(edge.admin, 'north', []);
    await setPool(edge.admin, 'south', [NODE]);
    await soon(() => expect(ports()).toEqual(['np-south', 'np-all', 'np-not-north']));
    await setPool(edge.admin, 'south', []);
    await setPool(edge.admin, 'north', [NODE, 'near']);
    await soon(() => expect(ports()).toEqual(['np-north', 'np-all']));
    watch.close();
  });
});

describe('inclusterconfig', () => {
  it('changes the kubeconfig that the kubelet mounts for kube-proxy', async () => {
    const data = { 'kubeconfig.conf': KUBECONFIG, 'config.conf': 'kind: KubeProxyConfiguration\n' };
    await edge.admin.create(CONFIG_MAPS, configMap('kube-proxy', data, {}, 'kube-system'));
    await edge.admin.create(PODS, {
      ...pod('kp', { volumes: [{ name: 'v', configMap: { name: 'kube-proxy' } }] } as never),
      metadata: { name: 'kp', namespace: 'kube-system' },
    } as Pod);
    const target = { namespace: 'kube-system', name: 'kube-proxy' };
    const hub = `https://${HUB_ADDRESS}:${edge.ports.https}`;
    const isHub = (object: KubeObject | undefined): unknown =>
      expect((object as ConfigMap).data).toEqual({
        ...data,
        'kubeconfig.conf': KUBECONFIG.replace('https://10.0.0.1:6443', hub),
      });
    isHub(await soon(() => kubelet.get(CONFIG_MAPS, target)));
    const select = { namespace: 'kube-system', fieldSelector: 'metadata.name=kube-proxy' };
    isHub((await kubelet.list(CONFIG_MAPS, select)).items[0]);
    const watch = await Watching.open(
      { ...edge.asNode, headers: { 'user-agent': 'kubelet/v1.36.4' } },
      '/api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dkube-proxy&watch=1&resourceVersion=0',
    );
    await soon(() => isHub(shown(watch.frames, 'kube-proxy')));
    watch.close();
    expect(((await edge.node('other').get(CONFIG_MAPS, target)) as ConfigMap).data).toEqual(data);
  });
});

describe('serviceenvupdater', () => {
  it('points pods that set the address of the API server to the hub, also in the response to a patch', async () => {
    const env = (host: string, port: string) => [
      { name: 'KUBERNETES_SERVICE_HOST', value: host },
      { name: 'OTHER', value: 'x' },
      { name: 'KUBERNETES_SERVICE_PORT', value: port },
    ];
    const containers = [{ name: 'c', image: 'i', env: env('10.0.0.1', '6443') }];
    await edge.admin.create(PODS, pod('env', { containers } as never));
    const isHub = (object: KubeObject | undefined): unknown =>
      expect((object as Pod).spec?.containers[0]).toMatchObject({
        env: env(HUB_ADDRESS, String(edge.ports.https)),
      });
    const target = { namespace: 'default', name: 'env' };
    const mine = { fieldSelector: `spec.nodeName=${NODE}` };
    await soon(async () => isHub(named((await kubelet.list(PODS, mine)).items, 'env')));
    isHub(await kubelet.get(PODS, target));
    isHub(
      await kubelet.patch(PODS, { ...target, subresource: 'status' }, 'strategic', {
        status: { phase: 'Running' },
      }),
    );
    const watch = await Watching.open(
      { ...edge.asNode, headers: { 'user-agent': 'kubelet/v1.36.4' } },
      `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}&watch=1&resourceVersion=0`,
    );
    await soon(() => isHub(shown(watch.frames, 'env')));
    watch.close();
    expect((await edge.admin.get(PODS, target)).spec?.containers).toMatchObject(containers);
  });
});

describe('servicetopology and ingressendpoints', () => {
  it('show each program the endpoints that it may use', async () => {
    const seenBy = async (program: string): Promise<Record<string, unknown>> => {
      const { items } = await edge.bearer(token, program).list(ENDPOINT_SLICES, { namespace: 'default' });
      const ours = items.filter(({ metadata }) =>
        /^(anywhere|in-pool|on-node|unknown)-1$/.test(metadata.name!),
      );
      return Object.fromEntries(ours.map((item) => [item.metadata.name!.slice(0, -2), nodesIn(item)]));
    };
    const scoped = { anywhere: MEMBERS, 'in-pool': [NODE, 'near'], 'on-node': [NODE], unknown: [] };
    for (const program of ['kube-proxy', 'coredns'])
      await soon(async () => expect([program, await seenBy(program)]).toEqual([program, scoped]));
    for (const program of ['nginx-ingress-controller', 'tidegate-router'])
      expect(await seenBy(program)).toEqual({ ...scoped, anywhere: [NODE, 'near'] });
    expect(await seenBy('something-else')).toEqual({
      anywhere: MEMBERS,
      'in-pool': MEMBERS,
      'on-node': MEMBERS,
      unknown: MEMBERS,
    });
  });

  it('filter Endpoints like EndpointSlices', async () => {
    await edge.admin.create(ENDPOINTS, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'in-pool', namespace: 'default' },
      subsets: [
        {
          addresses: MEMBERS.map((nodeName, i) => ({ ip: `10.0.0.${i + 1}`, nodeName })),
          ports: [{ port: 80 }],
        },
      ],
    } as never);
    for (const program of ['kube-proxy', 'nginx-ingress-controller'])
      await soon(async () => {
        const seen = (await edge
          .bearer(token, program)
          .get(ENDPOINTS, { namespace: 'default', name: 'in-pool' })) as Endpoints;
        expect(
          seen.subsets?.flatMap(({ addresses = [] }) => addresses.map(({ nodeName }) => nodeName)),
        ).toEqual([NODE, 'near']);
      });
  });

  it('update open watches when the node moves, an annotation changes, or a pool is deleted', async () => {
    const programs = ['kube-proxy', 'coredns', 'nginx-ingress-controller'];
    const watches = await Promise.all(programs.map((program) => watchAs(program, SLICES)));
    const all = (name: string, nodes: string[], pick = watches): Promise<void> =>
      soon(() => {
        for (const { frames } of pick) expect(nodesIn(shown(frames, name))).toEqual(nodes);
      });
    const version = (name: string): number[] =>
      watches.map(({ frames }) => Number(shown(frames, name)?.metadata.resourceVersion));
    await all('in-pool-1', [NODE, 'near']);
    const before = version('in-pool-1');

    await setPool(edge.admin, 'north', ['near']);
    await setPool(edge.admin, 'south', [NODE, 'far']);
    await all('in-pool-1', [NODE, 'far']);
    for (const [i, now] of version('in-pool-1').entries()) expect(now).toBeGreaterThan(before[i]!);

    await edge.admin.patch(SERVICES, { namespace: 'default', name: 'anywhere' }, 'merge', {
      metadata: { annotations: ON_NODE },
    });
    await all('anywhere-1', [NODE]);
    await edge.admin.patch(SERVICES, { namespace: 'default', name: 'anywhere' }, 'merge', {
      metadata: { annotations: { 'openyurt.io/topologyKeys': null } },
    });
    await all('anywhere-1', MEMBERS, watches.slice(0, 2));
    await all('anywhere-1', [NODE, 'far'], watches.slice(2));

    const versions = version('in-pool-1');
    await edge.admin.patch(NODE_POOLS, { name: 'south' }, 'merge', { metadata: { finalizers: null } });
    await edge.admin.delete(NODE_POOLS, { name: 'south' });
    await all('in-pool-1', [NODE]);
    for (const [i, now] of version('in-pool-1').entries()) expect(now).toBeGreaterThan(versions[i]!);

    // A slice of an unknown Service is shown when its Service is created.
    await edge.admin.create(SERVICES, service('unknown'));
    await all('unknown-1', MEMBERS, watches.slice(0, 2));

    // A watch can continue from a version that only this hub has issued.
    const { metadata } = (await say(edge.asBearer(token, 'kube-proxy'), SLICES)).json();
    const again = await Watching.open(
      edge.asBearer(token, 'kube-proxy'),
      `${SLICES}?watch=1&resourceVersion=${metadata.resourceVersion}`,
    );
    await setPool(edge.admin, 'north', [NODE, 'near']);
    await soon(() => expect(nodesIn(shown(again.frames, 'in-pool-1'))).toEqual([NODE, 'near']));
    expect(again.frames.map(({ type }) => type)).not.toContain('ERROR');
    for (const watch of [...watches, again]) watch.close();
  });

  it('filter EndpointSlices in v1beta1 as well', async () => {
    const path = '/apis/discovery.k8s.io/v1beta1/namespaces/default/endpointslices';
    const addresses = async (program: string): Promise<unknown> => {
      const said = await say(edge.asBearer(token, program), `${path}/on-node-1`);
      const { apiVersion, endpoints = [] } = said.json<EndpointSlice>();
      expect(apiVersion).toBe('discovery.k8s.io/v1beta1');
      return endpoints.flatMap((endpoint) => endpoint.addresses);
    };
    expect(await addresses('kube-proxy')).toEqual(['10.0.0.1']);
    expect(await addresses('something-else')).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    const watch = await watchAs('kube-proxy', path);
    await soon(() =>
      expect(shown(watch.frames, 'on-node-1')).toMatchObject({ endpoints: [{ addresses: ['10.0.0.1'] }] }),
    );
    watch.close();
  });
});

describe('configuration', () => {
  const CONFIGURATION = { namespace: 'kube-system', name: 'yurt-hub-cfg' };
  const configure = (data: Record<string, string>) =>
    edge.admin
      .delete(CONFIG_MAPS, CONFIGURATION)
      .catch(() => {})
      .then(() => edge.admin.create(CONFIG_MAPS, configMap('yurt-hub-cfg', data, {}, 'kube-system')));

  it('adds and removes a component while its watch is open', async () => {
    const watch = await watchAs('my-mesh', SLICES);
    const proxyWatch = await watchAs('kube-proxy', SLICES);
    const sees = (frames: Frame[], nodes: string[]): Promise<void> =>
      soon(() => expect(nodesIn(shown(frames, 'on-node-1'))).toEqual(nodes));
    await sees(watch.frames, [NODE, 'near', 'far']);
    await sees(proxyWatch.frames, [NODE]);
    await configure({ servicetopology: 'my-mesh, -kube-proxy' });
    await sees(watch.frames, [NODE]);
    await sees(proxyWatch.frames, [NODE, 'near', 'far']);
    const filters = await say(edge.administration, '/v1/filters');
    expect(
      filters.json<{ name: string; components: string }[]>().find(({ name }) => name === 'servicetopology')
        ?.components,
    ).toContain('my-mesh');
    await edge.admin.delete(CONFIG_MAPS, CONFIGURATION);
    await sees(watch.frames, [NODE, 'near', 'far']);
    await sees(proxyWatch.frames, [NODE]);
    watch.close();
    proxyWatch.close();
  });
});
