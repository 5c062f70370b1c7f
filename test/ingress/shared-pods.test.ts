/**
 * Classes with the same `sharedPods`, in a cluster whose routers are real processes: one pod with nginx serves all of them,
 * each at an address of its own.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment, Ingress, KubeList, Pod } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { L7Router } from '../../packages/tidegate/src/api/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { parametersObject, webObjects } from './support.ts';

const NAMES = Array.from({ length: 20 }, (_, index) => `class-${index + 1}`);

const web = webObjects();

const classOf = (name: string, sharedPods: string | undefined, controller = 'tidegate.io/nginx') => [
  parametersObject(name, { drainTime: '1s', ...(sharedPods && { sharedPods }) }),
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name },
    spec: {
      controller,
      parameters: {
        apiGroup: 'networking.tidegate.io',
        kind: 'IngressClassParameters',
        name,
        scope: 'Cluster',
      },
    },
  },
];

/** The host is the same in all classes, the path is different. */
const ingressOf = (name: string) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name },
  spec: {
    ingressClassName: name,
    rules: [
      {
        host: 'shop.example',
        http: {
          paths: [
            {
              path: `/${name}`,
              pathType: 'Prefix',
              backend: { service: { name: 'web', port: { number: 80 } } },
            },
          ],
        },
      },
    ],
  },
});

interface Address {
  ip: string;
  port: number;
}

const addressIn = ({ status }: Ingress): Address | undefined => {
  const [{ ip = '', ports = [] } = {}] = status?.loadBalancer?.ingress ?? [];
  return ports[0] === undefined ? undefined : { ip, port: ports[0].port };
};

describe('classes that share pods', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start('--nodes', 'a');
    await cluster.kubectl.apply(...web);
  });
  afterAll(() => cluster.stop());

  const deployments = async (): Promise<Deployment[]> =>
    (await cluster.kubectl.json<KubeList<Deployment>>('get deployments -n tidegate-routers')).items;
  const pods = async (): Promise<Pod[]> =>
    (await cluster.kubectl.json<KubeList<Pod>>('get pods -n tidegate-routers')).items;
  const requests = async (verb: string, resource: string): Promise<number> => {
    const metrics = await cluster.kubectl.run('get --raw /metrics');
    const lines = metrics.match(/^apiserver_request_total.*$/gm) ?? [];
    return lines
      .filter(
        (line) => line.includes(`verb="${verb}"`) && line.includes(`resource="${resource}",subresource=""`),
      )
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const addressOf = (name: string): Promise<Address> =>
    eventually(`Ingress ${name} has an address`, async () => {
      return addressIn(await cluster.kubectl.json<Ingress>(`get ingress ${name}`));
    });
  const isServed = (address: Address, name: string): Promise<true> =>
    eventually(`/${name} at ${address.ip}:${address.port}`, async () => {
      return (await ask(address, `/${name}`)) === 200 || undefined;
    });

  test('join without a rollout, and each is reachable at its own address only', async () => {
    const [first = '', ...others] = NAMES;
    await cluster.kubectl.apply(...classOf(first, 'front'), ingressOf(first));
    await isServed(await addressOf(first), first);
    const [before] = await pods();
    await cluster.kubectl.apply(...others.flatMap((name) => [...classOf(name, 'front'), ingressOf(name)]));
    const addresses = new Map<string, Address>();
    await eventually('all Ingresses have an address', async () => {
      const { items } = await cluster.kubectl.json<KubeList<Ingress>>('get ingresses');
      for (const ingress of items) {
        const address = addressIn(ingress);
        if (address !== undefined) addresses.set(`${ingress.metadata.name}`, address);
      }
      return addresses.size === NAMES.length;
    });
    expect(new Set([...addresses.values()].map(({ ip, port }) => `${ip}:${port}`)).size).toBe(NAMES.length);
    for (const [name, address] of addresses) await isServed(address, name);

    // The host is on all routers, but each address knows only the paths of its own class.
    for (const [index, name] of NAMES.entries())
      expect(await ask(addresses.get(name)!, `/${NAMES[(index + 1) % NAMES.length]}`)).toBe(404);
    expect(await deployments()).toMatchObject([{ metadata: { generation: 1 } }]);
    const after = await pods();
    expect(after.map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
    expect(after[0]?.status?.containerStatuses).toMatchObject([{ restartCount: 0 }]);
    // Each class costs a few writes, however many there are already.
    const writes = await requests('PATCH', 'deployments');
    expect(writes).toBeLessThan(3 * NAMES.length);
    const { items } = await cluster.kubectl.json<KubeList<L7Router & Pod>>('get l7routers');
    expect(new Set(items.map(({ spec }) => spec.workload?.section)).size).toBe(NAMES.length);

    // The pod is that of nginx, and `tidegate status` confirms the identity of each section.
    const report = await eventually('all front doors respond', async () => {
      const { frontDoors } = await cluster.report();
      return frontDoors.every(({ answers }) => answers.every(({ from }) => from === 'router')) && frontDoors;
    });
    expect(report.flatMap(({ routers }) => routers.map(({ dataPlane }) => dataPlane))).toEqual(
      NAMES.map(() => 'nginx'),
    );
  });

  test('leave without a rollout, and the last one deletes the pods', async () => {
    const [first = '', second = '', ...others] = NAMES;
    const kept = await addressOf(first);
    await cluster.kubectl.run(`delete ingress ${second}`);
    await eventually('its router is gone', async () => {
      const { items } = await cluster.kubectl.json<KubeList<L7Router & Pod>>('get l7routers');
      return items.every(({ metadata }) => metadata.name !== second);
    });
    await isServed(kept, first);
    expect(await deployments()).toMatchObject([{ metadata: { generation: 1 } }]);
    await cluster.kubectl.run(`delete ingress ${[first, ...others].join(' ')}`);
    await eventually('the pods are gone', async () => (await pods()).length === 0);
    expect(await deployments()).toEqual([]);
  });

  test('are served without a failure while one of them moves to shared pods', async () => {
    await cluster.kubectl.apply(...classOf('alone', undefined), ingressOf('alone'));
    const address = await addressOf('alone');
    await isServed(address, 'alone');
    const answers: number[] = [];
    let isDone = false;
    const load = (async () => {
      while (!isDone) {
        answers.push((await ask(address, '/alone').catch(() => 0)) ?? 0);
        await sleep(20);
      }
    })();
    for (const [pods, count] of [
      ['moved', 1],
      [undefined, 1],
    ] as const) {
      await cluster.kubectl.apply(...classOf('alone', pods));
      await eventually('it has other pods, and no others are left', async () => {
        const all = await deployments();
        const wanted = pods === undefined ? /-alone$/ : /-pods-moved-/;
        return all.length === count && wanted.test(`${all[0]?.metadata.name}`);
      });
      await isServed(address, 'alone');
    }
    isDone = true;
    await load;
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    expect(answers.length).toBeGreaterThan(0);
  });
});

function ask({ ip, port }: Address, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: ip, port, path, headers: { host: 'shop.example' }, agent: false },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
        response.on('error', reject);
      },
    );
    outgoing.on('error', reject).end();
  });
}
