/** Where the logs of the components are. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checkNames, isComponent, isNamed, processesOf } from './components.ts';
import { SupervisorError } from './error.ts';
import type { NodeLayout } from './layout.ts';
import { allRouterPods, podsOfRouter, type RouterPod } from './router-pods.ts';
import type { StateDirectory } from './state.ts';
import { resolveTargets } from './targets.ts';

export interface LogFile {
  /** For example `apiserver`, `hub-node-a`, or for a router the name of its pod. */
  component: string;
  file: string;
}

/**
 * The logs of one component, or of all. `component` is the kind of a component, or the name of a process as `tidegate
 * status` shows it. Names are those of `tidegate kill`; without names, all of the kind are meant. `nodes` are the nodes
 * with their labels as far as they are known, because names of hubs and nodes can be pools or selectors.
 */
export function logFiles(
  state: StateDirectory,
  component: string | undefined,
  names: readonly string[],
  nodes: readonly NodeLayout[],
): LogFile[] {
  const processes = processLogs(state);
  if (component === undefined) return [...processes, ...allRouterPods(state).flatMap(routerLogs)];
  if (!isComponent(component)) return [named(processes, component, names)];
  if (component === 'router') {
    const pods =
      names.length === 0 ? allRouterPods(state) : names.flatMap((name) => podsOfRouter(state, name));
    return pods.flatMap(routerLogs);
  }
  if (!isNamed(component)) {
    checkNames(component, names);
    return [named(processes, component, [])];
  }
  const all = nodes.map(({ name }) => name);
  const wanted = processesOf(component, names.length === 0 ? all : resolveTargets(names, nodes));
  return processes.filter((log) => wanted.includes(log.component));
}

function processLogs({ logs }: StateDirectory): LogFile[] {
  const files = existsSync(logs) ? readdirSync(logs).filter((name) => name.endsWith('.log')) : [];
  return files.sort().map((name) => ({ component: basename(name, '.log'), file: join(logs, name) }));
}

const routerLogs = ({ pod, logs }: RouterPod): LogFile[] =>
  logs.map((file) => ({ component: pod.slice(pod.indexOf('/') + 1), file }));

function named(processes: readonly LogFile[], name: string, names: readonly string[]): LogFile {
  const found = processes.find(({ component }) => component === name);
  if (found !== undefined && names.length === 0) return found;
  const known = processes.map(({ component }) => component).join(', ') || 'none yet';
  throw new SupervisorError(`no log of ${JSON.stringify(name)}; logs: ${known}, and router NAME`);
}
