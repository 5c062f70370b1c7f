/** The Node object as the kubelet describes it. Pure, except for the facts about the machine. */
import { createHash } from 'node:crypto';
import { readFileSync, statfsSync } from 'node:fs';
import { arch, cpus, release, totalmem } from 'node:os';
import type { Node } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';

/** What a node reports about itself. */
export interface NodeDescription {
  name: string;
  address: string;
  /** The port at which the API server reaches the kubelet's server. */
  kubeletPort: number;
  labels: Record<string, string>;
  /** For example `v1.36.4`. */
  kubernetesVersion: string;
  version: string;
  machine: Machine;
}

/** The resources of the node. */
export interface Machine {
  cpus: number;
  memoryBytes: number;
  storageBytes: number;
  kernelVersion: string;
  osImage: string;
  bootID: string;
}

/** The default of the kubelet. */
const MAX_PODS = 110;

/** The resources of the machine on which this process runs. */
export const thisMachine = (): Machine => ({
  cpus: cpus().length,
  memoryBytes: totalmem(),
  storageBytes: storage(),
  kernelVersion: release(),
  osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(readText('/etc/os-release'))?.[1] ?? 'Linux',
  bootID: readText('/proc/sys/kernel/random/boot_id').trim(),
});

function storage(): number {
  const { blocks, bsize } = statfsSync('/');
  return blocks * bsize;
}

/** The Node object for the first registration. */
export function newNode(description: NodeDescription, now: string): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: description.name, labels: { ...description.labels, ...ownLabels(description) } },
    spec: {},
    status: nodeStatus(description, undefined, now),
  };
}

/** Labels that describe the node itself. All other labels belong to the users. */
export function ownLabels({ name }: NodeDescription): Record<string, string> {
  const architecture = goArchitecture();
  return {
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
  };
}

/** The status to report now. Conditions that did not change keep their transition times. */
export function nodeStatus(
  description: NodeDescription,
  before: core.NodeStatus | undefined,
  now: string,
  isDiskFull = false,
): core.NodeStatus {
  const { name, address, kubeletPort, machine } = description;
  const resources = {
    cpu: String(machine.cpus),
    memory: `${Math.floor(machine.memoryBytes / 1024)}Ki`,
    pods: String(MAX_PODS),
    'ephemeral-storage': `${Math.floor(machine.storageBytes / 1024)}Ki`,
  };
  return {
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: name },
    ],
    allocatable: resources,
    capacity: resources,
    conditions: conditionsAfter(before?.conditions ?? [], now, isDiskFull),
    daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    nodeInfo: nodeInfo(description),
  };
}

const HEALTHY = [
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
] as const;

const DISK_FULL = ['DiskPressure', 'True', 'KubeletHasDiskPressure', 'kubelet has disk pressure'] as const;

function conditionsAfter(
  before: core.NodeCondition[],
  now: string,
  isDiskFull: boolean,
): core.NodeCondition[] {
  return HEALTHY.map((healthy) => {
    const [type, status, reason, message] = isDiskFull && healthy[0] === DISK_FULL[0] ? DISK_FULL : healthy;
    const old = before.find((condition) => condition.type === type);
    const lastTransitionTime = (old?.status === status ? old.lastTransitionTime : undefined) ?? now;
    return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime };
  });
}

function nodeInfo({ name, machine, kubernetesVersion, version }: NodeDescription): core.NodeSystemInfo {
  // Stable, and different for each node on this machine.
  const id = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return {
    architecture: goArchitecture(),
    bootID: machine.bootID,
    containerRuntimeVersion: `tidegate://${version}`,
    kernelVersion: machine.kernelVersion,
    kubeProxyVersion: '',
    kubeletVersion: kubernetesVersion,
    machineID: id,
    operatingSystem: 'linux',
    osImage: machine.osImage,
    systemUUID: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  };
}

const goArchitecture = (): string => (arch() === 'x64' ? 'amd64' : arch());

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Not available on every system; it is only displayed.
  }
}
