/**
 * The profile `restricted` of the Pod Security Standards, as published for Kubernetes: what its admission plugin would refuse.
 * The oldest supported API server has no such plugin, so tests compare pods with the rules themselves.
 */
import type { Pod } from '@tidegate/kube';

type PodSpec = NonNullable<Pod['spec']>;
type Container = PodSpec['containers'][number];

const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** One line for each rule that the pod breaks. Fields that Windows needs are not used here. */
export function restrictedProblems(spec: PodSpec): string[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return [
    ...[spec.hostNetwork, spec.hostPID, spec.hostIPC].flatMap((host) => (host ? ['host namespaces'] : [])),
    ...(spec.volumes ?? []).flatMap(({ name, ...source }) =>
      Object.keys(source).every((kind) => VOLUMES.includes(kind)) ? [] : [`volume ${name}`],
    ),
    ...(spec.securityContext?.sysctls ?? []).map(({ name }) => `sysctl ${name}`),
    ...(spec.securityContext?.seLinuxOptions === undefined ? [] : ['seLinuxOptions of the pod']),
    ...(spec.securityContext?.runAsUser === 0 ? ['runAsUser of the pod'] : []),
    ...containers.flatMap((container) =>
      containerProblems(container, spec).map((problem) => `${problem} of container ${container.name}`),
    ),
  ];
}

function containerProblems({ securityContext = {}, ports = [] }: Container, spec: PodSpec): string[] {
  const { capabilities, seccompProfile = spec.securityContext?.seccompProfile } = securityContext;
  const runAsNonRoot = securityContext.runAsNonRoot ?? spec.securityContext?.runAsNonRoot;
  const checks: Record<string, boolean> = {
    privileged: securityContext.privileged !== true,
    hostPort: ports.every(({ hostPort = 0 }) => hostPort === 0),
    procMount: (securityContext.procMount ?? 'Default') === 'Default',
    seLinuxOptions: securityContext.seLinuxOptions === undefined,
    allowPrivilegeEscalation: securityContext.allowPrivilegeEscalation === false,
    runAsNonRoot: runAsNonRoot === true,
    runAsUser: securityContext.runAsUser !== 0,
    seccompProfile: ['RuntimeDefault', 'Localhost'].includes(seccompProfile?.type ?? ''),
    'capabilities.drop': capabilities?.drop?.includes('ALL') === true,
    'capabilities.add': (capabilities?.add ?? []).every((name) => name === 'NET_BIND_SERVICE'),
  };
  return Object.keys(checks).filter((field) => !checks[field]);
}
