/**
 * What the nodes answer for. A request such as `kubectl logs -f`: `Subresource.connect` -> the pod says which container
 * and which node -> `KubeletClient.open` asks the node, with the certificate that nodes trust -> `relayBody` passes the
 * bytes on until one side ends, which ends the other.
 */
import type { Pki } from '../auth/pki.ts';
import type { KubeletHooks } from '../resources/hooks.ts';
import type { Store } from '../store/types.ts';
import { KubeletClient } from './kubelet-client.ts';
import { nodeProxy } from './node-proxy.ts';
import { podLog } from './pod-log.ts';
import { podStream } from './pod-streams.ts';

export function kubeletHooks(store: Store, pki: Pki): KubeletHooks {
  const kubelets = new KubeletClient(store, pki);
  return {
    log: podLog(kubelets),
    exec: podStream(kubelets, 'exec'),
    attach: podStream(kubelets, 'attach'),
    portforward: podStream(kubelets, 'portForward'),
    proxy: nodeProxy(kubelets),
  };
}
