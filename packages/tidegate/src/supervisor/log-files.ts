/** Where the logs of the components are. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Component, checkNames, isComponent, processesOf } from './components.ts';
import { SupervisorError } from './error.ts';
import { allRouterPods, podsOfRouter, type RouterPod } from './router-pods.ts';
import { readCluster, type StateDirectory } from './state.ts';
import { resolveTargets } from './targets.ts';

export interface LogFile {
  /** For example `apiserver`, `hub-node-a`, or for a router the name of its pod. */
  component: string;
  file: string;
}

/**
 * The logs of one component, or of all. `component` is the kind of a component, with names as in `tidegate kill`, or the
 * name of a process as `tidegate status` shows it.
 */
export async function logFiles(
  state: StateDirectory,
  component: string | undefined,
  names: readonly string[],
): Promise<LogFile[]> {
  const cluster = await readCluster(state);
  if (cluster === undefined)
    throw new SupervisorError(`no cluster in ${state.path}; create one with \`tidegate up\``);
  const processes = processLogs(state);
  if (component === undefined) return [...processes, ...allRouterPods(state).flatMap(routerLog)];
  if (!isComponent(component)) return [named(processes, component, names)];
  checkNames(component, names);
  if (component === 'router') return names.flatMap((name) => podsOfRouter(state, name)).flatMap(routerLog);
  const nodes = names.length === 0 ? [] : resolveTargets(names, cluster.nodes);
  return processesOf(component as Exclude<Component, 'router'>, nodes).map((name) =>
    named(processes, name, []),
  );
}

function processLogs({ logs }: StateDirectory): LogFile[] {
  const files = existsSync(logs) ? readdirSync(logs).filter((name) => name.endsWith('.log')) : [];
  return files.sort().map((name) => ({ component: basename(name, '.log'), file: join(logs, name) }));
}

const routerLog = ({ pod, log }: RouterPod): LogFile[] =>
  log === undefined ? [] : [{ component: pod.slice(pod.indexOf('/') + 1), file: log }];

function named(processes: readonly LogFile[], name: string, names: readonly string[]): LogFile {
  const found = processes.find(({ component }) => component === name);
  if (found !== undefined && names.length === 0) return found;
  const known = processes.map(({ component }) => component).join(', ') || 'none yet';
  throw new SupervisorError(`no log of ${JSON.stringify(name)}; logs: ${known}, and router NAME`);
}
