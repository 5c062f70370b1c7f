import { matcherFromLabels, type Pod, type Service } from '@tidegate/kube';
import type { Container } from '../contracts.ts';

/**
 * The ports of a stand-in: those that its container declares, those of its probes, and those that Services expect of the
 * pod. The latter do not belong to a particular container, so one container takes all that no container declares.
 */
export function standInPorts(
  pod: Pod,
  container: Container,
  selecting: readonly Service[],
  takesUndeclared: boolean,
): number[] {
  const ports = new Set(tcpPorts(container));
  const declared = new Set((pod.spec?.containers ?? []).flatMap(tcpPorts));
  const expected = [...probedPorts(container), ...(takesUndeclared ? selecting.flatMap(targetPorts) : [])];
  for (const port of expected) {
    if (!declared.has(port)) ports.add(port);
  }
  return [...ports].sort((a, b) => a - b);
}

const isTcp = ({ protocol }: { protocol?: string }): boolean => protocol === undefined || protocol === 'TCP';

const tcpPorts = ({ ports = [] }: Container): number[] =>
  ports.filter(isTcp).map(({ containerPort }) => containerPort);

/** A container that is probed on a port serves it, even if it does not declare the port. */
const probedPorts = ({ readinessProbe, livenessProbe, startupProbe }: Container): number[] =>
  [readinessProbe, livenessProbe, startupProbe]
    .flatMap((probe) => [probe?.httpGet?.port, probe?.tcpSocket?.port])
    .filter((port) => typeof port === 'number');

/** Only numbers: a named target port refers to a port that a container declares. */
const targetPorts = ({ spec }: Service): number[] =>
  (spec?.ports ?? [])
    .filter(isTcp)
    .map(({ targetPort, port }) => (targetPort === undefined || targetPort === 0 ? port : targetPort))
    .filter((port) => typeof port === 'number');

/** A Service without a selector gets its endpoints elsewhere. */
export function selects({ metadata, spec }: Service, pod: Pod): boolean {
  const selector = matcherFromLabels(spec?.selector ?? {});
  if (selector.empty || metadata.namespace !== pod.metadata.namespace) return false;
  return selector.matches(pod.metadata.labels);
}
