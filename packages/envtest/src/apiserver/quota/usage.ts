/** What an object uses, by the names that quotas have for it. */
import type { KubeObject } from '@tidegate/kube';
import { type Amounts, ONE, parseAmounts, podAmounts, sum } from '../../amounts/index.ts';
import type { Container, Pod } from '../resources/pod/types.ts';
import type { Service } from '../resources/service/types.ts';
import type { PersistentVolumeClaim } from '../resources/storage/types.ts';
import type { Registry } from '../served/registry.ts';

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';
/** Resources whose legacy name is that of the storage. */
const LEGACY_COUNTS = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas']);
/** What every container must specify if a quota limits it. */
const ENFORCED = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'];

/** `count/deployments.apps`, `count/pods`. */
const countName = (registry: Registry, storage: string): string => {
  const definition = registry.byStorage(storage)?.definition;
  const { group = '', plural = storage } = definition ?? {};
  return `count/${plural}${group === '' ? '' : `.${group}`}`;
};

export function usageOf(registry: Registry, storage: string, object: KubeObject): Amounts {
  const counts = new Map([[countName(registry, storage), ONE]]);
  switch (storage) {
    case 'pods':
      return sum(counts, podUsage(object as unknown as Pod));
    case 'services':
      return sum(counts, serviceUsage(object as Service));
    case 'persistentvolumeclaims':
      return sum(counts, claimUsage(object as PersistentVolumeClaim));
    default:
      return LEGACY_COUNTS.has(storage) ? sum(counts, new Map([[storage, ONE]])) : counts;
  }
}

/** The storage whose objects use what a quota limits under this name; undefined if the name is unknown. */
export function storageOf(registry: Registry, name: string): string | undefined {
  if (name.startsWith('count/')) {
    const [plural = '', ...group] = name.slice('count/'.length).split('.');
    return registry.find(group.join('.'), plural)?.storage;
  }
  if (LEGACY_COUNTS.has(name)) return name;
  if (name === 'services' || name.startsWith('services.')) return 'services';
  if (name === 'persistentvolumeclaims' || name === 'requests.storage' || name.includes(CLASS_SUFFIX)) {
    return 'persistentvolumeclaims';
  }
  return 'pods';
}

/** A pod that has ended uses no resources, but still counts as an object. */
function podUsage({ spec, status }: Pod): Amounts {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return new Map();
  const overhead = parseAmounts(spec.overhead);
  const limits = podAmounts(spec, 'limits');
  const ofLimited = new Map([...overhead].filter(([name]) => limits.has(name)));
  return computeUsage(sum(podAmounts(spec, 'requests'), overhead), sum(limits, ofLimited));
}

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage = new Map([['pods', ONE]]);
  for (const [name, amount] of requests) {
    usage.set(`requests.${name}`, amount);
    // Extended resources are limited only by their requests.
    if (!name.includes('/')) usage.set(name, amount);
  }
  for (const [name, amount] of limits) if (COMPUTE.includes(name)) usage.set(`limits.${name}`, amount);
  return usage;
}

function serviceUsage({ spec }: Service): Amounts {
  const { type, ports = [], allocateLoadBalancerNodePorts } = spec;
  const explicit = ports.filter(({ nodePort }) => nodePort).length;
  const isBalancer = type === 'LoadBalancer';
  const nodePorts =
    type === 'NodePort' || (isBalancer && allocateLoadBalancerNodePorts !== false)
      ? ports.length
      : isBalancer
        ? explicit
        : 0;
  return new Map([
    ['services', ONE],
    ['services.nodeports', BigInt(nodePorts) * ONE],
    ['services.loadbalancers', isBalancer ? ONE : 0n],
  ]);
}

function claimUsage({ spec }: PersistentVolumeClaim): Amounts {
  const { storageClassName = '' } = spec;
  const storage = parseAmounts(spec.resources?.requests).get('storage') ?? 0n;
  const usage = new Map([
    ['persistentvolumeclaims', ONE],
    ['requests.storage', storage],
  ]);
  if (storageClassName !== '') {
    usage.set(`${storageClassName}${CLASS_SUFFIX}persistentvolumeclaims`, ONE);
    usage.set(`${storageClassName}${CLASS_SUFFIX}requests.storage`, storage);
  }
  return usage;
}

/** The limited resources that containers of a pod do not specify, for example `cpu for: web; memory for: web,sidecar`. */
export function unspecified({ spec }: Pod, limited: Iterable<string>): string | undefined {
  if (spec.resources !== undefined) return undefined;
  const containers: Container[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const names = new Set(limited);
  const missing = ENFORCED.filter((name) => names.has(name))
    .sort()
    .flatMap((name) => {
      const without = containers.filter(({ resources }) => {
        const usage = computeUsage(parseAmounts(resources?.requests), parseAmounts(resources?.limits));
        return !usage.has(name);
      });
      const shown = [...new Set(without.map((container) => container.name ?? ''))].sort();
      return shown.length === 0 ? [] : [`${name} for: ${shown.join(',')}`];
    });
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`;
}
