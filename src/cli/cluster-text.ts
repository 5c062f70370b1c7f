/** What the commands about the embedded cluster print. */
import { textTable } from '../kube/text-table.ts';
import type { ClusterReport, NodeReport } from '../local/supervisor/index.ts';

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
  const target = report.frontDoors[0]?.pool ?? siteOf(report.nodes[0]);
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
  const open = frontDoors.flatMap(({ name, urls: [url], hosts: [host] }) =>
    url === undefined || host === undefined ? [] : [{ name, url, host }],
  );
  const first = nodes.find(({ link }) => link === 'up');
  if (open.length > 0) {
    return open.map(({ name, url, host }) => `  curl -H 'Host: ${host}' ${url}/    # ${name} answers`);
  }
  if (first === undefined) return [];
  return [
    '  kubectl create deployment hello --image=hello --port=8080 --replicas=3',
    '  kubectl expose deployment hello --type=NodePort',
    `  curl "http://${first.address}:$(kubectl get service hello -o jsonpath='{.spec.ports[0].nodePort}')/"`,
  ];
}
