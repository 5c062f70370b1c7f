/** Where things are on a node. Tests use another root than `/`. */
import { join } from 'node:path';

export interface Layout {
  root: string;
  /** The kubeconfig that the kubelet uses, and the one that it requests its first certificate with. */
  kubelet: string;
  kubeletBootstrap: string;
  /** What the hub authenticates with: the credentials of the node, or a token to request them. */
  hub: string;
  hubBootstrap: string;
  /** Environment of the systemd unit. */
  environment: string;
  unit: string;
  staticPod: string;
  /** The state of the hub. Its socket authenticates as the node, so only root may enter the directory. */
  state: string;
  /** What the installation has changed. */
  record: string;
}

export const layoutIn = (root: string, overrides: { kubelet?: string } = {}): Layout => ({
  root,
  kubelet: join(root, overrides.kubelet ?? '/etc/kubernetes/kubelet.conf'),
  kubeletBootstrap: join(root, '/etc/kubernetes/bootstrap-kubelet.conf'),
  hub: join(root, '/etc/kubernetes/hub.conf'),
  hubBootstrap: join(root, '/etc/kubernetes/hub-bootstrap.conf'),
  environment: join(root, '/etc/default/tidegate-hub'),
  unit: join(root, '/etc/systemd/system/tidegate-hub.service'),
  staticPod: join(root, '/etc/kubernetes/manifests/tidegate-hub.yaml'),
  state: join(root, '/var/lib/tidegate/hub'),
  record: join(root, '/var/lib/tidegate/enrollment.json'),
});
