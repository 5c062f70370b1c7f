/** The configuration of the programs of a node. */

export interface NodeFilesOptions {
  /** The directory of the node. */
  directory: string;
  /** The folder of scripts/node-programs.js. */
  programs: string;
  podRange: string;
  cgroup: string;
  clientCa: string;
  pauseImage: string;
}

/** Pods get an address of the node's range at a bridge, and reach their own Service at it. */
export const networkConfig = ({ directory, podRange }: NodeFilesOptions): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: `${directory}/addresses`,
          ranges: [[{ subnet: podRange }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });

/**
 * Machines for tests are often containers themselves: they may not raise the priority of a process for the out-of-memory
 * killer, and have no controller for huge pages.
 */
export const containerdConfig = ({
  directory,
  programs,
  pauseImage,
}: NodeFilesOptions): string => `version = 2
root = "${directory}/containerd"
state = "/run/containerd"
oom_score = 0
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${programs}/usr/lib/cni"
    conf_dir = "${directory}/network"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "${programs}/usr/sbin/runc"
        SystemdCgroup = false
`;

export const kubeletConfig = ({ directory, cgroup, clientCa }: NodeFilesOptions): string =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: clientCa },
    },
    authorization: { mode: 'Webhook' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    oomScoreAdj: 0,
    failSwapOn: false,
    resolvConf: `${directory}/resolv.conf`,
    // The nodes share the disk and the memory of the machine, which are none of their business.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    nodeStatusUpdateFrequency: '5s',
    serializeImagePulls: false,
    hairpinMode: 'hairpin-veth',
  });
