/** The parts of a pod that are visible in the endpoints of its Services. */
import { isIPv4 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Pod, Service } from '@tidegate/kube';
import type { ObjectReference } from 'kubernetes-types/core/v1.d.ts';
import { isReady, isTerminating } from '../pods/index.ts';

export type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];

const TERMINAL = ['Succeeded', 'Failed'];

/** The containers of the pod have stopped for good. */
export const isTerminal = ({ status }: Pod): boolean => TERMINAL.includes(status?.phase ?? '');

/** The pod's IPv4 address: Services of the embedded cluster are single-stack. */
export function addressOf({ status }: Pod): string | undefined {
  const addresses = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return addresses.find((ip) => ip !== undefined && isIPv4(ip));
}

/** The `targetRef` of an endpoint. */
export const referenceTo = ({ metadata }: Pod): ObjectReference => ({
  kind: 'Pod',
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
});

/** The pods of a headless Service have DNS names of their own below the name of the Service. */
export const hostnameIn = (service: Service, { spec }: Pod): string | undefined =>
  spec?.hostname && spec.subdomain === service.metadata.name ? spec.hostname : undefined;

/** The pod's port for this port of a Service; undefined when the Service names a port that the pod does not have. */
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

/** Whether an update of a pod can change any endpoints. Most status updates cannot. */
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
