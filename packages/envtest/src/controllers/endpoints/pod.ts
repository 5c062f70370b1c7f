/** What of a pod shows in the endpoints of its Services. */
import { isIPv4 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Pod, Service } from '@tidegate/kube';
import type { ObjectReference } from 'kubernetes-types/core/v1.d.ts';
import { isReady, isTerminating } from '../pods/index.ts';

export type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];

const TERMINAL = ['Succeeded', 'Failed'];

export const isTerminal = ({ status }: Pod): boolean => TERMINAL.includes(status?.phase ?? '');

/** Services of the embedded cluster have one family. */
export function addressOf({ status }: Pod): string | undefined {
  const addresses = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return addresses.find((ip) => ip !== undefined && isIPv4(ip));
}

export const referenceTo = ({ metadata }: Pod): ObjectReference => ({
  kind: 'Pod',
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
});

/** Pods of a headless Service have names of their own below that of the Service. */
export const hostnameIn = (service: Service, { spec }: Pod): string | undefined =>
  spec?.hostname && spec.subdomain === service.metadata.name ? spec.hostname : undefined;

/** Where the pod listens for this port of a Service; undefined when it has no port of that name. */
export function targetPortOf(
  pod: Pod,
  { targetPort, port, protocol = 'TCP' }: ServicePort,
): number | undefined {
  if (typeof targetPort !== 'string') return targetPort || port;
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(pod.spec?.containers ?? []), ...sidecars]
    .flatMap(({ ports = [] }) => ports)
    .find((named) => named.name === targetPort && (named.protocol ?? 'TCP') === protocol)?.containerPort;
}

/** Whether an update of a pod can show in any endpoints: most updates of a pod's status do not. */
export const changesEndpoints = (old: Pod, pod: Pod): boolean =>
  !isDeepStrictEqual(visibleParts(old), visibleParts(pod));

const visibleParts = (pod: Pod): unknown[] => [
  pod.metadata.uid,
  pod.metadata.labels,
  pod.spec?.nodeName,
  addressOf(pod),
  isReady(pod),
  isTerminal(pod),
  isTerminating(pod),
];
