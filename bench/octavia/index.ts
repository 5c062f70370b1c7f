import { cpus, loadavg } from 'node:os';
import type { JsonMap } from '@tidegate/kube';
import { silentLogger, systemClock } from '@tidegate/kube';
import type { L7Router } from '../../packages/tidegate/src/api/index.ts';
import { OctaviaProvisioner, Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import type { HostRoutes, Upstream } from '../../packages/tidegate/src/ingress/model.ts';
import type { RouterSnapshot } from '../../packages/tidegate/src/ingress/provisioners/index.ts';
import { startGuard } from '../../test/guard/setup.ts';
import { OctaviaServer } from '../../test/octavia/support/octavia.ts';
import { type Figure, printFigures } from '../report.ts';
import { seededRoutes } from './seed.ts';

const SIZES = [10, 1_000];
const PATHS_PER_HOST = 10;
/** More rules are written into the database of Octavia before the measurement. */
const MOST_PROGRAMMED = 100;
/** On a busy machine, one call of Octavia's API can take minutes with 1,000 rules. */
const CALL_TIMEOUT_MS = 1_800_000;
const PROJECT = 'bench';
const SUBNET = '9f6d8c9f-d22d-480e-80f5-867daa050ff8';

/** Counts calls: writes change something, reads wait for it. */
class CountingSession extends Session {
  writes = 0;
  reads = 0;

  override call(...args: Parameters<Session['call']>): Promise<JsonMap> {
    if (args[1].method === 'GET') this.reads++;
    else this.writes++;
    return super.call(...args);
  }
}

/** A change, and the number of writes without which Octavia cannot do it. */
interface Change {
  what: string;
  least: number;
  hosts?: (hosts: HostRoutes[]) => HostRoutes[];
  upstreams?: (upstreams: Upstream[]) => Upstream[];
}

const CHANGES: readonly Change[] = [
  {
    what: 'a pod is replaced',
    least: 1,
    upstreams: (all) => all.map((each, at) => (at === 0 ? upstream(0, '10.9.9.9') : each)),
  },
  {
    // The policy, two rules, and enabling it when it has both.
    what: 'an Ingress gets a path to a known Service',
    least: 4,
    hosts: (all) => all.map((each, at) => (at === 0 ? withPath(each) : each)),
  },
  {
    // A pool, its members, the policy and its rule.
    what: 'an Ingress with a new host and Service',
    least: 4,
    hosts: (all) => [...all, hostOf('new.example.com', ['/'], 'shop_new_80')],
    upstreams: (all) => [...all, { ...upstream(0, '10.8.8.8'), id: 'shop_new_80', service: 'new' }],
  },
  {
    // The policy and the pool.
    what: 'that Ingress is deleted',
    least: 2,
    hosts: (all) => all.filter(({ host }) => host !== 'new.example.com'),
    upstreams: (all) => all.filter(({ id }) => id !== 'shop_new_80'),
  },
];

/**
 * Measures what a change of an Ingress costs on the real API of Octavia, from the change until the load balancer is ACTIVE.
 * The reference is the smallest number of writes with which the API can make the change. The CPU time is that of Octavia.
 */
export async function benchOctavia(args: string[]): Promise<void> {
  const sizes = args.length > 0 ? args.map(Number) : SIZES;
  console.error(`Load of the machine: ${loadText()}, ${cpus().length} cores`);
  const end = startGuard();
  try {
    for (const rules of sizes) await measure(rules);
    console.error(`Load of the machine: ${loadText()}`);
  } finally {
    await end?.();
  }
}

const loadText = (): string => (loadavg()[0] ?? 0).toFixed(0);

async function measure(rules: number): Promise<void> {
  const server = await OctaviaServer.start();
  const session = new CountingSession(
    {
      auth: { type: 'none', projectId: PROJECT },
      interface: 'public',
      verify: true,
      endpoints: { 'load-balancer': server.url },
    },
    systemClock,
    CALL_TIMEOUT_MS,
  );
  try {
    const provisioner = new OctaviaProvisioner({
      session,
      cluster: 'bench',
      clock: systemClock,
      log: silentLogger,
    });
    const signal = new AbortController().signal;
    const context = { parameters: {}, log: silentLogger };
    const isSeeded = rules > MOST_PROGRAMMED;
    let { hosts, upstreams } = tables(rules);
    let ensured = await provisioner.ensure(ROUTER, context, signal);
    while (!ensured.ready) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      ensured = await provisioner.ensure(ROUTER, context, signal);
    }
    if (isSeeded)
      await server.fill(`${ensured.loadBalancer?.id}`, seededRoutes(snapshotOf(hosts, upstreams)));
    const figures: Figure[] = [];
    const change = async (what: string, least: number | undefined): Promise<void> => {
      console.error(`${rules} rules: ${what} ...`);
      const cpuBefore = await server.cpuSeconds();
      const before = { writes: session.writes, reads: session.reads, at: performance.now() };
      await provisioner.reconcile(ROUTER, snapshotOf(hosts, upstreams), signal);
      const writes = session.writes - before.writes;
      const seconds = ((performance.now() - before.at) / 1000).toFixed(1);
      const cpu = ((await server.cpuSeconds()) - cpuBefore).toFixed(1);
      figures.push({
        what,
        value: `${writes} writes, ${session.reads - before.reads} reads, ${seconds} s (${cpu} s CPU)`,
        ...(least !== undefined && { reference: `${least} writes`, ratio: (writes / least).toFixed(2) }),
      });
    };
    if (isSeeded) await change('all rules are there already', undefined);
    else await change('all rules, from nothing', leastOf(hosts, upstreams));
    for (const { what, least, hosts: newHosts, upstreams: newUpstreams } of CHANGES) {
      hosts = newHosts?.(hosts) ?? hosts;
      upstreams = newUpstreams?.(upstreams) ?? upstreams;
      await change(what, least);
    }
    await change('nothing changes', undefined);
    printFigures(`A router on Octavia with ${rules} rules`, figures);
  } finally {
    await session.close();
    await server.stop();
  }
}

/** Pools and their members; a policy and its rules for each path; the listener, which is enabled at the end. */
const leastOf = (hosts: readonly HostRoutes[], upstreams: readonly Upstream[]): number =>
  1 +
  2 * upstreams.length +
  hosts.flatMap(({ routes }) => routes).reduce((sum, { path }) => sum + (path === '/' ? 2 : 3), 0) +
  2;

const ROUTER: L7Router = {
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'bench', generation: 1 },
  spec: {
    ingressClassName: 'bench',
    driver: 'octavia',
    parameters: { subnetId: SUBNET },
  },
};

function tables(rules: number): { hosts: HostRoutes[]; upstreams: Upstream[] } {
  const paths = Array.from({ length: PATHS_PER_HOST }, (_, at) =>
    at === 0 ? '/' : `/path-${at}`,
  ).toReversed();
  const hosts = Array.from({ length: Math.ceil(rules / PATHS_PER_HOST) }, (_, at) =>
    hostOf(`host-${at}.example.com`, paths, `shop_s${at}_80`),
  );
  return {
    hosts,
    upstreams: hosts.map((_, at) => upstream(at, `10.0.${Math.floor(at / 250)}.${(at % 250) + 1}`)),
  };
}

const upstream = (at: number, address: string): Upstream => ({
  ...{ id: `shop_s${at}_80`, namespace: 'shop', service: `s${at}`, protocol: 'http', balance: 'roundRobin' },
  endpoints: [{ address, port: 8080 }],
});

const hostOf = (host: string, paths: readonly string[], to: string): HostRoutes => ({
  host,
  namespace: 'shop',
  routes: paths.map((path, at) => ({
    path,
    match: 'Prefix',
    headers: [],
    action: {
      backends: [{ upstream: to, weight: 1 }],
      limits: {},
      source: { kind: 'Ingress', namespace: 'shop', name: host, rule: 0, path: at },
    },
  })),
});

const withPath = (host: HostRoutes): HostRoutes => {
  const [first] = host.routes;
  return first === undefined
    ? host
    : { ...host, routes: [{ ...first, path: '/another-path' }, ...host.routes] };
};

const snapshotOf = (hosts: readonly HostRoutes[], upstreams: readonly Upstream[]): RouterSnapshot => ({
  routerGeneration: 1,
  generation: 1,
  hosts: new Map(hosts.map((each) => [each.host, each])),
  upstreams: new Map(upstreams.map((each) => [each.id, each])),
  certificates: new Map(),
  changes: {
    from: 0,
    to: 1,
    hosts: { set: hosts, remove: [] },
    upstreams: { set: upstreams, remove: [] },
    certificates: { set: [], remove: [] },
  },
});
