/**
 * Requests that the API server forwards to kubelets. For example `kubectl logs -f`: `Subresource.connect` finds the
 * container and the node of the pod -> `KubeletClient.open` sends the request to the node with the kubelet client
 * certificate -> `relayBody` forwards the bytes until one side closes, which closes the other side.
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
