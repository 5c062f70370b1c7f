/**
 * Hosts move between routers under load, in a cluster whose routers are real processes. Clients use the address in the status
 * of their Ingress, and go on to use the old one for a while, as clients with old DNS records do.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { INGRESSES, type Ingress, type KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { L7_ROUTERS, type L7Router } from '../../packages/tidegate/src/api/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { Failures } from '../support/failures.ts';
import { classObject, ingressObject, parametersObject } from './support.ts';

const HOSTS = ['a', 'b', 'c'];
/** Clients use an old address for less than the drain time. */
const DRAIN_TIME = '6s';
const OLD_ADDRESS_MS = 3_000;

interface Address {
  readonly ip: string;
  readonly port: number;
}

describe('hosts that move between routers', () => {
  let cluster: Cluster;
  const failures = new Failures();
  let requests = 0;
  let isOver = false;
  const clients: Promise<void>[] = [];

  const ingressesOf = async (): Promise<Map<string, Address>> => {
    const { items } = await (await cluster.client()).list(INGRESSES);
    return new Map(
      items.flatMap(({ metadata, status }) => {
        const [{ ip = '', ports = [] } = {}] = status?.loadBalancer?.ingress ?? [];
        return ports[0] === undefined ? [] : [[`${metadata.name}`, { ip, port: ports[0].port }] as const];
      }),
    );
  };
  const routers = async (): Promise<L7Router[]> => (await (await cluster.client()).list(L7_ROUTERS)).items;
  /** Waits until no host is moving and every host has one of this number of routers, or of these. */
  const settled = (wanted: number | string[]): Promise<unknown> =>
    eventually(`routers: ${wanted}, and no host is moving`, async () => {
      const all = await routers();
      const isQuiet = all.every(
        ({ spec, metadata, status }) =>
          spec.leaving === undefined &&
          metadata.deletionTimestamp === undefined &&
          status?.appliedGeneration === metadata.generation,
      );
      const names = all.map(({ metadata }) => `${metadata.name}`);
      const isWanted = typeof wanted === 'number' ? all.length === wanted : `${names}` === `${wanted}`;
      return (isWanted && isQuiet) || undefined;
    });

  /** Sends requests to the current addresses of all hosts, and to their last ones. */
  async function load(): Promise<void> {
    const known = new Map<string, { now: Address; before?: Address; since: number }>();
    const watching = (async () => {
      while (!isOver) {
        for (const [name, now] of await ingressesOf()) {
          const last = known.get(name)?.now;
          if (last === undefined || last.ip !== now.ip || last.port !== now.port)
            known.set(name, { now, ...(last && { before: last }), since: Date.now() });
        }
        await sleep(200);
      }
    })();
    while (!isOver) {
      for (const name of HOSTS) {
        const { now, before, since = 0 } = known.get(name) ?? {};
        const isFresh = Date.now() - since < OLD_ADDRESS_MS;
        for (const address of [now, isFresh ? before : undefined]) {
          if (address === undefined) continue;
          const code = await ask(address, `${name}.example.com`);
          requests++;
          if (code !== '200') failures.add(`${name} at ${address.ip}:${address.port}: ${code}`);
        }
      }
      await sleep(30);
    }
    await watching;
  }

  beforeAll(async () => {
    cluster = await Cluster.start('--nodes', 'a');
    const labels = { app: 'web' };
    await cluster.kubectl.apply(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: 'web', image: 'web', ports: [{ containerPort: 8080 }] }] },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web' },
        spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
      },
      parametersObject('gold', { maxHosts: '3', drainTime: DRAIN_TIME }),
      classObject('gold', 'gold'),
      ...HOSTS.map((host) => ingressObject(host, 'gold', [`${host}.example.com`], { namespace: 'default' })),
    );
    await eventually(
      'all Ingresses have an address',
      async () => (await ingressesOf()).size === 3 || undefined,
    );
    await eventually('the Service answers', async () => {
      const all = [...(await ingressesOf())];
      const codes = await Promise.all(all.map(([name, address]) => ask(address, `${name}.example.com`)));
      return codes.every((code) => code === '200') || undefined;
    });
    clients.push(load());
  });
  afterAll(async () => {
    isOver = true;
    await Promise.all(clients);
    await cluster.stop();
  });

  const withoutFailures = async (): Promise<void> => {
    const before = requests;
    await eventually('more requests', () => requests > before + 30 || undefined);
    expect(`${failures}`).toBe('');
  };

  test('answer all requests when a limit shrinks', async () => {
    await cluster.kubectl.apply(parametersObject('gold', { maxHosts: '1', drainTime: DRAIN_TIME }));
    await settled(['gold', 'gold-2', 'gold-3']);
    await withoutFailures();
  });

  test('answer all requests when a new Ingress ties two of them together', async () => {
    await cluster.kubectl.apply(
      parametersObject('gold', { maxHosts: '2', drainTime: DRAIN_TIME }),
      tied(['a.example.com', 'b.example.com']),
    );
    await settled(2);
    await withoutFailures();
  });

  test('answer all requests when a user deletes a router', async () => {
    await cluster.kubectl.run('delete l7router gold --wait=false');
    await eventually('the router is created again or gone', async () => {
      const names = (await routers()).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
      return names.length === 0 || undefined;
    });
    await settled(2);
    await withoutFailures();
  });

  test('answer all requests when an Ingress changes its class', async () => {
    await cluster.kubectl.apply(
      parametersObject('silver', { drainTime: DRAIN_TIME }),
      classObject('silver', 'silver'),
    );
    const before = (await ingressesOf()).get('c');
    await cluster.kubectl.apply(ingressObject('c', 'silver', ['c.example.com'], { namespace: 'default' }));
    await eventually('the Ingress has the address of its new class', async () => {
      const now = (await ingressesOf()).get('c');
      return (now !== undefined && now.port !== before?.port) || undefined;
    });
    await withoutFailures();
    await eventually(
      'the old class serves the Ingress no longer',
      async () => (await routers()).every(({ spec }) => spec.departing === undefined) || undefined,
    );
    expect((await routers()).map(({ metadata }) => metadata.name)).toContain('silver');
    await withoutFailures();
    await cluster.kubectl.apply(ingressObject('c', 'gold', ['c.example.com'], { namespace: 'default' }));
    await eventually(
      'the routers of the class are gone',
      async () => (await routers()).every(({ metadata }) => metadata.name !== 'silver') || undefined,
    );
    await withoutFailures();
  });

  test('answer all requests when their class starts to share an address', async () => {
    await cluster.kubectl.apply(
      parametersObject('gold', { maxHosts: '9', drainTime: DRAIN_TIME, sharedAddress: 'front' }),
    );
    await settled(['front']);
    await withoutFailures();
  });

  test('answer all requests when a user deletes the router of a shared address', async () => {
    await cluster.kubectl.run('delete l7router front --wait=false');
    await eventually('another router serves', async () => {
      const names = (await routers()).map(({ metadata }) => metadata.name);
      return (names.length === 1 && names[0] !== 'front') || undefined;
    });
    await settled(1);
    await withoutFailures();
  });

  test('answer all requests when their class leaves a shared address', async () => {
    await cluster.kubectl.apply(parametersObject('gold', { maxHosts: '9', drainTime: DRAIN_TIME }));
    await settled(['gold']);
    await withoutFailures();
  });
});

/** An Ingress with another path of these hosts. */
function tied(hosts: string[]): KubeObject {
  const ingress = ingressObject('both', 'gold', hosts, { namespace: 'default' }) as Ingress;
  for (const { http } of ingress.spec?.rules ?? []) for (const each of http?.paths ?? []) each.path = '/both';
  return ingress as KubeObject;
}

function ask({ ip, port }: Address, host: string): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request({ host: ip, port, path: '/', headers: { host }, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(`${response.statusCode}`));
      response.on('error', (error) => resolve(error.message));
    });
    outgoing.on('error', (error) => resolve(error.message));
    outgoing.end();
  });
}
