/** How the hub is started on a node: as a systemd unit, or as a static pod of the kubelet. */
import { stringify } from 'yaml';

export interface HubService {
  nodeName: string;
  /** Additional options of `tidegate hub`. */
  options: readonly string[];
  /** Whether the hub requests its credentials with a bootstrap token. */
  bootstrap: boolean;
}

/** The credentials of the hub, as options. Paths are those on the node. */
const credentials = ({ bootstrap }: HubService): string[] => [
  ...['--kubeconfig', '/etc/kubernetes/hub.conf'],
  ...(bootstrap ? ['--bootstrap-kubeconfig', '/etc/kubernetes/hub-bootstrap.conf'] : []),
];

/** The unit is deploy/hub.service; the file of its environment has what differs between nodes. */
export function environmentFile(service: HubService): string {
  const options = [...(service.bootstrap ? credentials(service).slice(2) : []), ...service.options];
  return `# Written by tidegate hub install.\nNODE_NAME=${service.nodeName}\nHUB_OPTIONS=${options.join(' ')}\n`;
}

export function staticPodManifest(service: HubService, image: string): string {
  return `# Written by tidegate hub install.\n${stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'tidegate-hub',
      namespace: 'kube-system',
      labels: { 'app.kubernetes.io/name': 'tidegate-hub', 'app.kubernetes.io/part-of': 'tidegate' },
    },
    spec: {
      hostNetwork: true,
      priorityClassName: 'system-node-critical',
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'hub',
          image,
          args: ['hub', '--node-name', service.nodeName, ...credentials(service), ...service.options],
          livenessProbe: {
            httpGet: { host: '127.0.0.1', path: '/healthz', port: 10267 },
            initialDelaySeconds: 10,
            timeoutSeconds: 5,
            failureThreshold: 6,
          },
          resources: { requests: { cpu: '50m', memory: '96Mi' } },
          // Root, because its socket authenticates as the node. It adds the address of the hub to the host.
          securityContext: {
            runAsUser: 0,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'DAC_OVERRIDE'] },
          },
          volumeMounts: [
            { name: 'state', mountPath: '/var/lib/tidegate/hub' },
            { name: 'kubernetes', mountPath: '/etc/kubernetes', readOnly: true },
            { name: 'pki', mountPath: '/var/lib/kubelet/pki', readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: 'state', hostPath: { path: '/var/lib/tidegate/hub', type: 'Directory' } },
        { name: 'kubernetes', hostPath: { path: '/etc/kubernetes', type: 'Directory' } },
        { name: 'pki', hostPath: { path: '/var/lib/kubelet/pki', type: 'DirectoryOrCreate' } },
      ],
    },
  })}`;
}
