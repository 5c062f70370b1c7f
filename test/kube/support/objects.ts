import type { Kubectl } from '../../support/kubectl.ts';

export const POD_PORT = 8080;

/** Creates a node that is Ready, as its kubelet would report. */
export async function createNode(kubectl: Kubectl, name: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  await patchStatus(kubectl, `node ${name}`, { conditions: [{ type: 'Ready', status: 'True' }] });
}

/** Creates a pod with the label `app: web` and sets its status, in place of a kubelet. */
export async function createPod(
  kubectl: Kubectl,
  name: string,
  nodeName: string,
  podIP: string,
): Promise<void> {
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'web' } },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  await patchStatus(kubectl, `pod ${name}`, { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions });
}

export const webService = (name: string, clusterIP: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { clusterIP, selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: POD_PORT }] },
});

export async function patchStatus(kubectl: Kubectl, target: string, status: object): Promise<void> {
  await kubectl.run(`patch ${target} --subresource=status --type=merge -p ${JSON.stringify({ status })}`);
}
