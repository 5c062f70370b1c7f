/** What the commands about the embedded cluster print. */
import { humanDuration, textTable } from '@tidegate/kube';
import { type ClusterReport, type FrontDoorReport, type NodeReport, tryOut } from '../supervisor/index.ts';

export function poolsTable({ pools }: ClusterReport): string {
  if (pools.length === 0) return 'no pools; a NodeGroup or NodePool makes one';
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

export function nodesTable({ nodes }: ClusterReport): string {
  if (nodes.length === 0) return 'no nodes; `tidegate up --nodes 3` has three';
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

/** READY is what the API server knows, which is old news while the link is cut; ANSWERING is how many really do. */
export function frontDoorsTable({ frontDoors, pools }: ClusterReport, now: number): string {
  const cut = new Set(pools.filter(({ link }) => link === 'cut').map(({ name }) => name));
  if (frontDoors.length === 0) return 'no front doors; a YurtIngress makes one for each of its pools';
  return textTable([
    ['FRONT DOOR', 'POOL', 'ADDRESS', 'READY', 'ANSWERING', 'DATA PLANE', 'HOSTS', 'RULES', 'LAST CHANGE'],
    ...frontDoors.map((door) => [
      door.name,
      door.pool ?? '<all>',
      door.urls.join(',') || '<none>',
      cut.has(door.pool ?? '') ? `${readyText(door)}, as last heard` : readyText(door),
      `${door.routers.filter(({ answers }) => answers).length}/${door.routers.length}`,
      [...new Set(door.routers.flatMap(({ dataPlane }) => dataPlane ?? []))].join(',') || '<unknown>',
      String(door.hosts.length),
      String(door.rules),
      agoText(
        door.routers.flatMap(({ lastChange }) => lastChange ?? []),
        now,
      ),
    ]),
  ]);
}

const readyText = ({ ready, reason = 'nobody has looked yet' }: FrontDoorReport): string =>
  ready === 'True' ? ready : `${ready} (${reason})`;

function agoText(times: readonly string[], now: number): string {
  const last = times.map((time) => Date.parse(time)).sort((a, b) => b - a)[0];
  return last === undefined ? '<unknown>' : `${humanDuration(now - last)} ago`;
}

/** More would hide the rest of the picture. */
const MOST_ROUTES = 20;

export function routesTable({ routes }: ClusterReport): string {
  if (routes.length === 0) return 'no routes; an Ingress has some';
  const table = textTable([
    ['HOST', 'PATH', 'SERVICE', 'INGRESS', 'FRONT DOOR'],
    ...routes
      .slice(0, MOST_ROUTES)
      .map(({ host, path, service, ingress, ingressClass, frontDoors }) => [
        host,
        path,
        service ?? '<none>',
        ingress,
        frontDoors.join(',') || `<none of class ${ingressClass ?? '""'}>`,
      ]),
  ]);
  const rest = routes.length - MOST_ROUTES;
  return rest > 0 ? `${table}\nand ${rest} more; -o json has all` : table;
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

/** Without those that every node has by itself. */
function labelsText(labels: Record<string, string>): string {
  const own = Object.entries(labels).filter(([key]) => !/(^|\.)kubernetes\.io\//.test(key));
  return own.length === 0 ? '<none>' : own.map(([key, value]) => `${key}=${value}`).join(',');
}

/** What stands at the end of `tidegate up`: where things are, and what to try. */
export function summary(
  report: ClusterReport,
  { call, late }: { call: (command: string) => string; late: string[] },
): string {
  const target = report.pools[0]?.name ?? siteOf(report.nodes[0]);
  const cut = report.nodes.filter(({ link }) => link === 'cut').map(({ name }) => name);
  return [
    ...(late.length === 0
      ? []
      : [`Not ready yet: ${late.join(', ')}; see their logs in ${report.state}/logs.`]),
    ...(cut.length === 0
      ? []
      : [`Cut off from the API server: ${cut.join(', ')}; \`${call('mend')} --all\` mends that.`]),
    '',
    `Kubernetes API   ${report.api.url}`,
    `kubeconfig       ${report.kubeconfig}`,
    '',
    nodesTable(report),
    '',
    'Try it:',
    `  export KUBECONFIG=${report.kubeconfig}`,
    '  kubectl get nodes',
    ...trafficHints(report),
    ...(target === undefined
      ? []
      : [`  ${call('cut')} ${target}    # breaks the link of these nodes; mend repairs it`]),
    `  ${call('status')}`,
    '',
    `Ctrl-C or \`${call('down')}\` stops it; the next \`${call('up')}\` goes on from there.`,
  ].join('\n');
}

/** A label that its nodes have in common, or else one node. */
function siteOf(node: NodeReport | undefined): string | undefined {
  const label = Object.entries(node?.labels ?? {}).find(([key]) => !key.includes('kubernetes.io/'));
  return label === undefined ? node?.name : label.join('=');
}

/** Through the front doors if there are any; else how to make something that answers. */
function trafficHints({ frontDoors, nodes }: ClusterReport): string[] {
  const requests = frontDoors.flatMap((door) => {
    const target = tryOut(door);
    if (target === undefined) return [];
    return [`  curl -H 'Host: ${target.host}' ${target.url}/    # answered in ${door.pool ?? 'any pool'}`];
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
