/**
 * The text output of the commands for the embedded cluster. Columns have the names of the fields in the JSON output
 * (`ClusterReport`), except that lists are counted or joined, and `memoryBytes` is rounded to MiB.
 */
import { quotePath } from '@tidegate/disk';
import { humanDuration, textTable } from '@tidegate/kube';
import {
  type ClusterReport,
  callerFor,
  type FrontDoorReport,
  failureText,
  type NodeReport,
  type NotReady,
  notReadyText,
  sampleRequest,
} from '../supervisor/index.ts';

export function poolsTable({ pools }: ClusterReport): string {
  if (pools.length === 0) return 'No pools. Create a NodePool or a NodeGroup to get one.';
  return textTable([
    ['POOL', 'KIND', 'READY', 'LINK', 'NODES'],
    ...pools.map(({ name, kind, nodes, readyNodes, link }) => [
      name,
      kind,
      `${readyNodes}/${nodes.length}`,
      link,
      nodes.join(',') || '<none>',
    ]),
  ]);
}

export function nodesTable({ nodes, stateDirectory }: ClusterReport): string {
  if (nodes.length === 0) return `No nodes. \`${callerFor(stateDirectory)('up --nodes 3')}\` runs three.`;
  return textTable([
    ['NODE', 'READY', 'ADDRESS', 'LINK', 'PODS', 'LABELS'],
    ...nodes.map(({ name, ready, address, link, pods, labels }) => [
      name,
      ready,
      address,
      link,
      pods === undefined ? '<unknown>' : String(pods),
      labelsText(labels),
    ]),
  ]);
}

/**
 * READY is the condition in the API server, which is out of date while the link is cut. RESPONDING counts the router pods
 * that respond when they are queried directly, and reports when they cannot be reached at the address, or cannot reach
 * the pods behind them.
 */
export function frontDoorsTable({ frontDoors, pools }: ClusterReport, now: number): string {
  const cut = new Set(pools.filter(({ link }) => link === 'cut').map(({ name }) => name));
  if (frontDoors.length === 0)
    return 'No front doors. Create a YurtIngress to get one for each of its pools.';
  return textTable([
    ['FRONT DOOR', 'POOL', 'URL', 'READY', 'RESPONDING', 'DATA PLANE', 'HOSTS', 'RULES', 'LAST CHANGE'],
    ...frontDoors.map((door) => [
      door.name,
      door.pool ?? '<all>',
      door.urls.join(',') || '<none>',
      cut.has(door.pool ?? '') || isContradicted(door) ? `${readyText(door)}, last known` : readyText(door),
      respondingText(door),
      door.elsewhere ??
        ([...new Set(door.routers.flatMap(({ dataPlane }) => dataPlane ?? []))].join(',') || '<unknown>'),
      String(door.hosts.length),
      String(door.rules),
      agoText(
        door.routers.flatMap(({ lastChange }) => lastChange ?? []),
        now,
      ),
    ]),
  ]);
}

function respondingText({ routers, answers, sample, elsewhere }: FrontDoorReport): string {
  if (elsewhere !== undefined) return '<not queried>';
  const count = `${routers.filter(({ responding }) => responding).length}/${routers.length}`;
  if (answers.some(({ from }) => from === 'router'))
    return sample !== undefined && sample.status >= 500 ? `${count} (${failureText(sample)})` : count;
  if (answers.length === 0) return count;
  const what = answers.some(({ from }) => from === 'stranger') ? 'another program answers' : 'no answer';
  return `${count} (${what} at the address)`;
}

/** The condition is out of date, for example because the API server cannot store another one on a full disk. */
const isContradicted = ({ ready, routers, answers }: FrontDoorReport): boolean =>
  ready === 'True' &&
  ((routers.length > 0 && routers.every(({ responding }) => !responding)) ||
    (answers.length > 0 && answers.every(({ from }) => from !== 'router')));

const readyText = ({ ready, reason = 'not reported yet' }: FrontDoorReport): string =>
  ready === 'True' ? ready : `${ready} (${reason})`;

function agoText(times: readonly string[], now: number): string {
  const last = times.map((time) => Date.parse(time)).sort((a, b) => b - a)[0];
  return last === undefined ? '<unknown>' : `${humanDuration(now - last)} ago`;
}

/** The maximum number of rows, so that the tables above stay on the screen. The JSON output has all routes. */
const MAX_ROUTES = 20;

export function routesTable({ routes }: ClusterReport): string {
  if (routes.length === 0) return 'No routes. Create an Ingress to get one.';
  const table = textTable([
    ['HOST', 'PATH', 'SERVICE', 'INGRESS', 'FRONT DOOR'],
    ...routes
      .slice(0, MAX_ROUTES)
      .map(({ host, path, service, ingress, ingressClass, frontDoors }) => [
        host,
        path,
        service ?? '<none>',
        ingress,
        frontDoors.join(',') || `<none of class ${ingressClass ?? '""'}>`,
      ]),
  ]);
  const rest = routes.length - MAX_ROUTES;
  return rest > 0 ? `${table}\n... and ${rest} more. Use -o json to list all routes.` : table;
}

export function processesTable({ processes }: ClusterReport): string {
  return textTable([
    ['PROCESS', 'PID', 'STATE', 'RESTARTS', 'MEMORY'],
    ...processes.map(({ name, pid, state, restarts, memoryBytes }) => [
      name,
      pid === undefined ? '<none>' : String(pid),
      state,
      String(restarts),
      memoryBytes === undefined ? '<unknown>' : `${Math.round(memoryBytes / 2 ** 20)} MiB`,
    ]),
  ]);
}

/** Without the standard labels that every node has. */
function labelsText(labels: Record<string, string>): string {
  const own = Object.entries(labels).filter(([key]) => !/(^|\.)kubernetes\.io\//.test(key));
  return own.length === 0 ? '<none>' : own.map(([key, value]) => `${key}=${value}`).join(',');
}

/** The last output of `tidegate up`: addresses, and commands to try. */
export function summary(
  report: ClusterReport,
  { call, notReady }: { call: (command: string) => string; notReady: NotReady[] },
): string {
  const target = report.pools[0]?.name ?? siteOf(report.nodes[0]);
  const cut = report.nodes.filter(({ link }) => link === 'cut').map(({ name }) => name);
  return [
    ...notReady.map((reason) => `Not ready yet: ${notReadyText(reason, call)}`),
    ...(cut.length === 0
      ? []
      : [`Disconnected from the API server: ${cut.join(', ')}. Reconnect with \`${call('mend')} --all\`.`]),
    '',
    `Kubernetes API   ${report.api.url}`,
    `kubeconfig       ${quotePath(report.kubeconfig)}`,
    '',
    nodesTable(report),
    '',
    'Try it:',
    `  export KUBECONFIG=${quotePath(report.kubeconfig)}`,
    '  kubectl get nodes',
    ...trafficHints(report),
    ...(target === undefined
      ? []
      : [`  ${call('cut')} ${target}    # disconnects these nodes; mend reconnects them`]),
    `  ${call('status')}`,
    '',
    `Stop the cluster with Ctrl-C or \`${call('down')}\`. The next \`${call('up')}\` resumes it.`,
  ].join('\n');
}

/** A label that selects the nodes of a site, or otherwise the name of the node. */
function siteOf(node: NodeReport | undefined): string | undefined {
  const label = Object.entries(node?.labels ?? {}).find(([key]) => !key.includes('kubernetes.io/'));
  return label === undefined ? node?.name : label.join('=');
}

/** Requests to the front doors; without front doors, commands that create a service to request. */
function trafficHints({ frontDoors, nodes }: ClusterReport): string[] {
  const requests = frontDoors.flatMap((door) => {
    const target = sampleRequest(door);
    if (target === undefined) return [];
    return [`  curl -H 'Host: ${target.host}' ${target.url}/    # served in ${door.pool ?? 'any pool'}`];
  });
  if (requests.length > 0) return requests;
  const first = nodes.find(({ link }) => link === 'up');
  if (first === undefined) return [];
  return [
    '  kubectl create deployment hello --image=hello --port=8080 --replicas=3',
    '  kubectl expose deployment hello --type=NodePort',
    `  curl "http://${first.address}:$(kubectl get service hello -o jsonpath='{.spec.ports[0].nodePort}')/"`,
  ];
}
