/**
 * The pods of routers as the node agents record them on disk. That is known without the API server, which may be the
 * very process that a user has killed, and without a running cluster.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signalOne, startTicksOf } from '@tidegate/envtest/node';
import { workloadName } from '../ingress/provision/identity.ts';
import { SupervisorError } from './error.ts';
import type { StateDirectory } from './state.ts';

/** The name of the container in all pods of routers. */
export const ROUTER_CONTAINER = 'router';

export interface RouterPod {
  /** Namespace and name. */
  pod: string;
  node: string;
  /** Undefined while the container does not run. */
  pid?: number;
  /** The logs of its runs that are kept, oldest first. */
  logs: string[];
}

/** The fields of a PodRecord that matter here. */
interface Recorded {
  namespace: string;
  name: string;
  containers: Record<string, { state: { process?: { pid: number; startTicks: string } } }>;
}

/** The pods of the router with this name. Throws if there is none. */
export function podsOfRouter(state: StateDirectory, router: string): RouterPod[] {
  const all = allRouterPods(state);
  const found = all.filter(({ pod }) => isPodOf(router, pod));
  if (found.length > 0) return found;
  const known = [
    ...new Set(all.map(({ pod }) => pod.replace(/^.*\/tidegate-router-(.*)-[a-z0-9]+-[a-z0-9]+$/, '$1'))),
  ];
  throw new SupervisorError(
    known.length === 0
      ? `no router ${JSON.stringify(router)}: no node of the cluster runs a router`
      : `no router ${JSON.stringify(router)}; routers: ${known.sort().join(', ')}`,
  );
}

/** Deployments append two generated words, which contain no dash. */
const isPodOf = (router: string, pod: string): boolean => {
  const [, name = ''] = pod.split('/');
  const prefix = `${workloadName(router)}-`;
  return name.startsWith(prefix) && /^[a-z0-9]+-[a-z0-9]+$/.test(name.slice(prefix.length));
};

export function allRouterPods(state: StateDirectory): RouterPod[] {
  return entries(state.nodes).flatMap((node) => {
    const pods = join(state.node(node), 'pods');
    return entries(pods).flatMap((uid) => read(node, join(pods, uid)) ?? []);
  });
}

function read(node: string, directory: string): RouterPod | undefined {
  const file = join(directory, 'pod.json');
  if (!existsSync(file)) return undefined;
  const { namespace, name, containers } = JSON.parse(readFileSync(file, 'utf8')) as Recorded;
  const container = containers[ROUTER_CONTAINER];
  if (container === undefined) return undefined;
  const { process } = container.state;
  return {
    pod: `${namespace}/${name}`,
    node,
    // A pid may have been reused since it was recorded.
    ...(process !== undefined && startTicksOf(process.pid) === process.startTicks && { pid: process.pid }),
    logs: logsBelow(directory),
  };
}

/** The log of one run of a router, named after the number of restarts before it. */
export const routerLog = (state: StateDirectory, node: string, uid: string, run: number): string =>
  join(logDirectory(join(state.node(node), 'pods', uid)), `${run}.log`);

function logsBelow(pod: string): string[] {
  const directory = logDirectory(pod);
  const runs = entries(directory).flatMap((name) => /^(\d+)\.log$/.exec(name)?.[1] ?? []);
  return runs
    .map(Number)
    .sort((a, b) => a - b)
    .map((run) => join(directory, `${run}.log`));
}

const logDirectory = (pod: string): string => join(pod, 'containers', ROUTER_CONTAINER, 'logs');

const entries = (directory: string): string[] => (existsSync(directory) ? readdirSync(directory).sort() : []);

/** The node agent restarts the container. */
export function crashRouter(state: StateDirectory, name: string): string[] {
  const running = podsOfRouter(state, name).filter(({ pid }) => pid !== undefined);
  if (running.length === 0)
    throw new SupervisorError(`router ${name} does not run; see \`kubectl get pods -A\``);
  return running.map(({ pod, node, pid = 0 }) => {
    signalOne(pid, 'SIGKILL');
    return `router ${name} (pod ${pod} on ${node}, pid ${pid})`;
  });
}
