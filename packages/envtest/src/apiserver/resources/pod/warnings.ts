/** Warnings for pods and templates: fields that are deprecated, ignored, or probably a mistake. */
import { type ObjectMeta, ownField } from '@tidegate/kube';
import { isDNS1123Label } from '../validation/names.ts';
import type { Container, ContainerPort, Pod, PodAffinity, PodSpec, PodTemplateSpec } from './types.ts';

const ANNOTATIONS: Record<string, string> = {
  'scheduler.alpha.kubernetes.io/critical-pod':
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};

const NODE_LABELS: Record<string, string> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region':
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone':
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type':
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods':
    'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

const NO_SELECTOR = 'a null labelSelector results in matching no pod';

/** Warnings are returned only when a pod is created, because later writes come from controllers. */
export function podWarnings({ metadata, spec }: Pod, old: Pod | undefined): string[] {
  if (old !== undefined) return [];
  const messages = isDNS1123Label(metadata.name ?? '');
  const hostname = `this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`;
  return [
    ...(messages.length > 0 ? [`metadata.name: ${hostname}`] : []),
    ...specWarnings(spec, metadata, ''),
  ];
}

export const podTemplateWarnings = ({ metadata = {}, spec = {} }: PodTemplateSpec, path: string): string[] =>
  specWarnings(spec, metadata, `${path}.`);

/** `prefix` is the path of the template; it is empty for a pod. */
function specWarnings(spec: PodSpec, { annotations = {} }: ObjectMeta, prefix: string): string[] {
  const path = `${prefix}spec`;
  const containers = containersWithPaths(spec, path);
  return [
    ...Object.keys(spec.nodeSelector ?? {}).flatMap((key) =>
      Object.hasOwn(NODE_LABELS, key) ? [`${path}.nodeSelector[${key}]: ${NODE_LABELS[key]}`] : [],
    ),
    ...spreadWarnings(spec, path),
    ...Object.entries(ANNOTATIONS).flatMap(([key, message]) =>
      annotations[key] === undefined ? [] : [`${prefix}metadata.annotations[${key}]: ${message}`],
    ),
    ...duplicates(
      (spec.hostAliases ?? []).map((alias) => alias.ip),
      `${path}.hostAliases`,
      'ip',
    ),
    ...duplicates(
      (spec.imagePullSecrets ?? []).map((secret) => secret.name),
      `${path}.imagePullSecrets`,
      'name',
    ),
    ...(spec.imagePullSecrets ?? []).flatMap(({ name }, i) =>
      name ? [] : [`${path}.imagePullSecrets[${i}].name: invalid empty name ""`],
    ),
    ...containers.flatMap(([container, at]) => containerWarnings(container, at)),
    ...portWarnings(containers),
    ...((spec.terminationGracePeriodSeconds ?? 0) < 0
      ? [
          `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...affinityWarnings(spec.affinity?.podAffinity, `${path}.affinity.podAffinity`),
    ...affinityWarnings(spec.affinity?.podAntiAffinity, `${path}.affinity.podAntiAffinity`),
  ];
}

const containersWithPaths = (spec: PodSpec, path: string): [Container, string][] =>
  (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, i): [Container, string] => [container, `${path}.${list}[${i}]`]),
  );

const spreadWarnings = (spec: PodSpec, path: string): string[] =>
  (spec.topologySpreadConstraints ?? []).flatMap(({ topologyKey = '', labelSelector }, i) => {
    const at = `${path}.topologySpreadConstraints[${i}]`;
    const deprecated = ownField(NODE_LABELS, topologyKey);
    return [
      ...(deprecated === undefined ? [] : [`${at}.topologyKey: ${topologyKey} is ${deprecated}`]),
      ...(labelSelector === undefined ? [`${at}.labelSelector: ${NO_SELECTOR}`] : []),
    ];
  });

function duplicates(values: (string | undefined)[], path: string, field: string): string[] {
  const seen = new Set<string | undefined>();
  return values.flatMap((value, i) => {
    if (seen.size === seen.add(value).size)
      return [`${path}[${i}].${field}: duplicate ${field} ${JSON.stringify(value ?? '')}`];
    return [];
  });
}

function containerWarnings({ env = [], resources = {} }: Container, path: string): string[] {
  const seen = new Set<string>();
  const fractional = (['limits', 'requests'] as const).flatMap((list) =>
    ['memory', 'ephemeral-storage'].flatMap((name) => {
      const value = ownField(resources[list], name) ?? '';
      const where = `${path}.resources.${list}[${name}]`;
      return value.endsWith('m')
        ? [`${where}: fractional byte value ${JSON.stringify(value)} is invalid, must be an integer`]
        : [];
    }),
  );
  const hidden = env.flatMap(({ name = '', value = '', valueFrom }, i) => {
    const reference = `$(${name})`;
    // Extending the earlier value is fine; replacing it is probably a mistake.
    const extends_ = valueFrom === undefined && value !== reference && value.includes(reference);
    const warn = seen.has(name) && !extends_;
    seen.add(name);
    const message = `hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`;
    return warn ? [`${path}.env[${i}]: ${message}`] : [];
  });
  return [...fractional, ...hidden];
}

/** Clients see about 4 KB of warnings, so these are more than enough. Without a limit, equal ports have a warning per pair. */
const MAX_PORT_WARNINGS = 200;

interface PortAt {
  port: ContainerPort;
  at: string;
}

function portWarnings(containers: [Container, string][]): string[] {
  const ports = containers.flatMap(([container, path]) =>
    (container.ports ?? []).map((port, i): PortAt => ({ port, at: `${path}.ports[${i}]` })),
  );
  return [...portOverlaps(ports), ...portNames(ports)];
}

function portOverlaps(ports: readonly PortAt[]): string[] {
  const warnings: string[] = [];
  const sameBefore = new Map<string, PortAt[]>();
  for (const { port, at } of ports) {
    const key = `${port.containerPort}/${port.protocol}`;
    const before = sameBefore.get(key) ?? [];
    sameBefore.set(key, before);
    for (const other of before) {
      const kind = overlap(port, other.port);
      if (kind !== undefined) warnings.push(`${at}: ${kind} port definition with ${other.at}`);
      if (warnings.length === MAX_PORT_WARNINGS) return warnings;
    }
    // Ports with different host ports do not overlap. Their number is limited so that the comparisons are, too.
    if (before.length < MAX_PORT_WARNINGS) before.push({ port, at });
  }
  return warnings;
}

function portNames(ports: readonly PortAt[]): string[] {
  const first = new Map<string, string>();
  const warnings: string[] = [];
  for (const { port, at } of ports) {
    if (!port.name) continue;
    const other = first.get(port.name);
    if (other === undefined) first.set(port.name, at);
    else
      warnings.push(
        `${at}: duplicate port name ${JSON.stringify(port.name)} with ${other}, services and probes that select ports by name will use ${other}`,
      );
    if (warnings.length === MAX_PORT_WARNINGS) break;
  }
  return warnings;
}

function overlap(a: ContainerPort, b: ContainerPort): string | undefined {
  if (a.containerPort !== b.containerPort || a.protocol !== b.protocol) return undefined;
  const sameHost = (a.hostIP ?? '') === (b.hostIP ?? '');
  const samePort = (a.hostPort ?? 0) === (b.hostPort ?? 0);
  if (sameHost && samePort) return 'duplicate';
  if (!a.hostPort || !b.hostPort) return 'overlapping';
  return samePort && !a.hostIP !== !b.hostIP ? 'dangerously ambiguous' : undefined;
}

const affinityWarnings = (affinity: PodAffinity | undefined, path: string): string[] => [
  ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).flatMap((term, i) =>
    term.labelSelector === undefined
      ? [`${path}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: ${NO_SELECTOR}`]
      : [],
  ),
  ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(({ podAffinityTerm }, i) =>
    podAffinityTerm?.labelSelector === undefined
      ? [
          `${path}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: ${NO_SELECTOR}`,
        ]
      : [],
  ),
];
