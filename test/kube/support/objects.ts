import type { Kubectl } from '../../support/kubectl.ts';

export const POD_PORT = 8080;

/** A node that is there and well, as its kubelet would say. */
export async function createNode(kubectl: Kubectl, name: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  await patchStatus(kubectl, `node ${name}`, { conditions: [{ type: 'Ready', status: 'True' }] });
}

/** A pod of `app: web` that runs on the node at the address. No kubelet is there to say so: this does. */
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
