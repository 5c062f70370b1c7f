/** Defaults of pods and pod templates. Some defaults are set only in pods, not in templates. */
import { formatQuantity, parseQuantity, roundUpToMilli, setField } from '@tidegate/kube';
import type {
  Container,
  DownwardAPIItem,
  Handler,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
  ProjectedSource,
  ResourceList,
  ResourceRequirements,
  Volume,
} from './types.ts';

const DEFAULT_MODE = 0o644;

/** Zero values ('' and 0) count as not set. */
const unset = (value: string | number | undefined): boolean =>
  value === undefined || value === '' || value === 0;

export const allContainers = (spec: PodSpec): Container[] => [
  ...(spec.containers ?? []),
  ...(spec.initContainers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

export function defaultPod(pod: Pod): void {
  const { spec } = pod;
  defaultPodSpec(spec);
  // Negative values were allowed in early versions and meant the shortest time.
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    requestsFromLimits(container.resources);
    if (spec.hostNetwork !== true) continue;
    for (const port of container.ports ?? []) if (unset(port.hostPort)) port.hostPort = port.containerPort;
  }
  podRequests(spec);
  spec.enableServiceLinks ??= true;
}

export function defaultPodTemplate(template: PodTemplateSpec): void {
  template.metadata ??= {};
  template.spec ??= {};
  defaultPodSpec(template.spec);
}

function defaultPodSpec(spec: PodSpec): void {
  if (unset(spec.restartPolicy)) spec.restartPolicy = 'Always';
  if (unset(spec.dnsPolicy)) spec.dnsPolicy = 'ClusterFirst';
  if (unset(spec.schedulerName)) spec.schedulerName = 'default-scheduler';
  spec.terminationGracePeriodSeconds ??= 30;
  spec.securityContext ??= {};
  // The deprecated field serviceAccount is kept equal to serviceAccountName.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  if (spec.overhead !== undefined) canonicalResources(spec.overhead);
  if (spec.resources !== undefined) canonicalRequirements(spec.resources);
  for (const container of allContainers(spec)) defaultContainer(container);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
}

function defaultContainer(container: Container): void {
  container.resources ??= {};
  canonicalRequirements(container.resources);
  if (unset(container.imagePullPolicy)) {
    container.imagePullPolicy = isLatest(container.image ?? '') ? 'Always' : 'IfNotPresent';
  }
  if (unset(container.terminationMessagePath)) container.terminationMessagePath = '/dev/termination-log';
  if (unset(container.terminationMessagePolicy)) container.terminationMessagePolicy = 'File';
  for (const port of container.ports ?? []) if (unset(port.protocol)) port.protocol = 'TCP';
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
    if (probe !== undefined) defaultProbe(probe);
  }
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop]) {
    if (handler !== undefined) defaultHandler(handler);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef !== undefined && unset(valueFrom.fieldRef.apiVersion)) {
      valueFrom.fieldRef.apiVersion = 'v1';
    }
    if (valueFrom?.resourceFieldRef !== undefined) valueFrom.resourceFieldRef.divisor ??= '0';
  }
  const securityContext = container.securityContext;
  if (securityContext !== undefined && securityContext.procMount === '') delete securityContext.procMount;
}

/** An image without a tag means `latest`, unless it has a digest. */
function isLatest(image: string): boolean {
  if (image === '' || image.includes('@')) return false;
  const name = image.slice(image.lastIndexOf('/') + 1);
  const colon = name.indexOf(':');
  return colon < 0 || name.slice(colon + 1) === 'latest';
}

function defaultProbe(probe: Probe): void {
  if (unset(probe.timeoutSeconds)) probe.timeoutSeconds = 1;
  if (unset(probe.periodSeconds)) probe.periodSeconds = 10;
  if (unset(probe.successThreshold)) probe.successThreshold = 1;
  if (unset(probe.failureThreshold)) probe.failureThreshold = 3;
  defaultHandler(probe);
}

function defaultHandler(handler: Handler): void {
  if (handler.httpGet !== undefined) {
    if (unset(handler.httpGet.path)) handler.httpGet.path = '/';
    if (unset(handler.httpGet.scheme)) handler.httpGet.scheme = 'HTTP';
  }
  if (handler.grpc !== undefined) handler.grpc.service ??= '';
}

function defaultVolume(volume: Volume): void {
  if (Object.keys(volume).every((key) => key === 'name')) volume.emptyDir = {};
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.secret !== undefined) volume.secret.defaultMode ??= DEFAULT_MODE;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= DEFAULT_MODE;
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= DEFAULT_MODE;
    defaultDownwardItems(volume.downwardAPI.items);
  }
  if (volume.projected !== undefined) {
    volume.projected.defaultMode ??= DEFAULT_MODE;
    for (const source of volume.projected.sources ?? []) defaultProjection(source);
  }
  if (volume.image !== undefined && unset(volume.image.pullPolicy)) {
    volume.image.pullPolicy = isLatest(volume.image.reference ?? '') ? 'Always' : 'IfNotPresent';
  }
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) claim.volumeMode ??= 'Filesystem';
}

function defaultProjection(source: ProjectedSource): void {
  if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= 3600;
  defaultDownwardItems(source.downwardAPI?.items);
}

function defaultDownwardItems(items: DownwardAPIItem[] | undefined): void {
  for (const { fieldRef, resourceFieldRef } of items ?? []) {
    if (fieldRef !== undefined && unset(fieldRef.apiVersion)) fieldRef.apiVersion = 'v1';
    if (resourceFieldRef !== undefined) resourceFieldRef.divisor ??= '0';
  }
}

function requestsFromLimits(resources: ResourceRequirements | undefined): void {
  if (resources?.limits === undefined) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/** Requests at the pod level: the sum of its containers, otherwise its limits. */
function podRequests(spec: PodSpec): void {
  const { limits, requests } = spec.resources ?? {};
  if (spec.resources === undefined || limits === undefined) return;
  const together: ResourceList = {};
  for (const name of ['cpu', 'memory']) {
    const asked = (spec.containers ?? []).flatMap((container) => {
      const quantity = parseQuantity(String(container.resources?.requests?.[name] ?? ''));
      return quantity === undefined ? [] : [quantity];
    });
    const [first] = asked;
    if (first === undefined) continue;
    const nanos = asked.reduce((sum, quantity) => sum + quantity.nanos, 0n);
    together[name] = formatQuantity({ ...first, nanos });
  }
  spec.resources.requests = { ...limits, ...together, ...requests };
}

export function canonicalRequirements(resources: ResourceRequirements): void {
  if (resources.limits !== undefined) canonicalResources(resources.limits);
  if (resources.requests !== undefined) canonicalResources(resources.requests);
}

/** Converts quantities to their canonical form. A number, as in YAML `cpu: 1`, becomes a string. */
export function canonicalResources(list: ResourceList): void {
  for (const [name, value] of Object.entries(list)) {
    const quantity = parseQuantity(String(value));
    if (quantity !== undefined) setField(list, name, formatQuantity(roundUpToMilli(quantity)));
  }
}
