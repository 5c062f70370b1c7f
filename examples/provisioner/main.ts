/** Runs the provisioner with the cluster of the kubeconfig, until Ctrl-C. */
import { KubeClient, loadConfig } from '@tidegate/kube';
import { runProvisioner } from './provisioner.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
const client = new KubeClient(await loadConfig({ env: process.env }));
console.log('The provisioner example.com/f5 is running.');
await runProvisioner(client, stop.signal);
await client.close();
