/** What leaves the cluster of each kind of object. */
import { isJsonMap } from '@tidegate/kube';
import { NAME_REFERENCE } from '../api/index.ts';
import { isCredentialName, REDACTED, redactList, redactText } from './redact-text.ts';
import { applyShape, type Fields, fields, mapOf, type Shape, skeleton } from './shape.ts';

/** Annotations whose values are names, numbers or lists of addresses. Of all others, only the key is kept. */
const KUBERNETES_ANNOTATIONS =
  'deployment.kubernetes.io/revision kubernetes.io/ingress.class ingressclass.kubernetes.io/is-default-class node.alpha.kubernetes.io/ttl';
/** These contain parts of other objects. */
const COPIES = /\/(?:written|previous-attributes|other-version-fields)$/;
const ANNOTATIONS = new Set([
  ...KUBERNETES_ANNOTATIONS.split(' '),
  ...NAME_REFERENCE.flatMap(({ type, name }) => (type === 'annotation' && !COPIES.test(name) ? [name] : [])),
]);
const NGINX_ANNOTATIONS =
  /^nginx\.ingress\.kubernetes\.io\/(?:use-regex|rewrite-target|app-root|server-alias|(?:force-)?ssl-redirect|from-to-www-redirect|backend-protocol|(?:white|allow|deny)list-source-range|proxy-body-size|proxy-(?:connect|read|send)-timeout)$/;

const isKept = (key: string): boolean => ANNOTATIONS.has(key) || NGINX_ANNOTATIONS.test(key);

function annotations(value: unknown): unknown {
  if (!isJsonMap(value)) return REDACTED;
  return Object.fromEntries(
    Object.entries(value).map(([key, text]) => [
      key,
      typeof text === 'string' && isKept(key) ? redactText(text) : REDACTED,
    ]),
  );
}

const labels = mapOf('keep');
const selector = fields('', {
  matchLabels: labels,
  matchExpressions: fields('key operator values'),
});
const metadata = fields(
  'name namespace generateName uid resourceVersion generation creationTimestamp deletionTimestamp finalizers',
  { labels, annotations, ownerReferences: fields('apiVersion kind name uid controller blockOwnerDeletion') },
);
const conditions = fields(
  'type status reason message observedGeneration lastTransitionTime lastUpdateTime lastProbeTime lastHeartbeatTime',
);
const object = (more: Fields): Fields => fields('apiVersion kind', { metadata, ...more });
const reference = fields('apiVersion kind namespace name uid resourceVersion fieldPath');

const probe = fields(
  'initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold terminationGracePeriodSeconds',
  { httpGet: fields('path port scheme'), tcpSocket: fields('port'), grpc: fields('port service') },
);
const resources = fields('', { limits: mapOf('keep'), requests: mapOf('keep') });
const container = (args: Shape): Fields =>
  fields('name image imagePullPolicy terminationMessagePath terminationMessagePolicy restartPolicy', {
    args,
    command: args,
    env: fields('name', {
      valueFrom: fields('', {
        fieldRef: fields('apiVersion fieldPath'),
        secretKeyRef: fields('name key optional'),
        configMapKeyRef: fields('name key optional'),
      }),
    }),
    ports: fields('name containerPort hostPort hostIP protocol'),
    ...{ resources, livenessProbe: probe, readinessProbe: probe, startupProbe: probe },
    volumeMounts: fields('name mountPath subPath readOnly'),
    securityContext: fields(
      'allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot runAsUser runAsGroup privileged',
      { capabilities: fields('add drop'), seccompProfile: fields('type') },
    ),
  });
const volume = fields('name', {
  secret: fields('secretName optional defaultMode', { items: fields('key path mode') }),
  configMap: fields('name optional defaultMode', { items: fields('key path mode') }),
  emptyDir: fields('medium sizeLimit'),
  persistentVolumeClaim: fields('claimName readOnly'),
  hostPath: fields('path type'),
});
const podSpec = (args: Shape): Fields =>
  fields(
    'nodeName serviceAccountName serviceAccount hostNetwork dnsPolicy restartPolicy priorityClassName priority schedulerName' +
      ' terminationGracePeriodSeconds automountServiceAccountToken enableServiceLinks preemptionPolicy hostname subdomain',
    {
      containers: container(args),
      initContainers: container(args),
      volumes: volume,
      nodeSelector: labels,
      tolerations: fields('key operator value effect tolerationSeconds'),
      imagePullSecrets: fields('name'),
      topologySpreadConstraints: fields('maxSkew topologyKey whenUnsatisfiable', { labelSelector: selector }),
      securityContext: fields('runAsNonRoot runAsUser runAsGroup fsGroup', {
        seccompProfile: fields('type'),
      }),
    },
  );
const containerState = fields('', {
  waiting: fields('reason message'),
  running: fields('startedAt'),
  // Its message is what the program has written last.
  terminated: fields('exitCode signal reason startedAt finishedAt containerID'),
});
const containerStatus = fields('name ready started restartCount image imageID containerID', {
  state: containerState,
  lastState: containerState,
});
const template = (args: Shape): Fields => fields('', { metadata, spec: podSpec(args) });
const port = fields('name port protocol targetPort nodePort appProtocol');
const loadBalancer = fields('', { ingress: fields('ip hostname ipMode', { ports: port }) });
const backend = fields('', {
  service: fields('name', { port: fields('name number') }),
  resource: fields('apiGroup kind name'),
});
const peer = fields('', {
  podSelector: selector,
  namespaceSelector: selector,
  ipBlock: fields('cidr except'),
});

const webhook = object({
  webhooks: fields(
    'name failurePolicy matchPolicy sideEffects timeoutSeconds admissionReviewVersions reinvocationPolicy',
    {
      clientConfig: fields('', { service: fields('namespace name path port') }),
      rules: fields('apiGroups apiVersions operations resources scope'),
      namespaceSelector: selector,
      objectSelector: selector,
      matchConditions: fields('name'),
    },
  ),
});

/** By resource. `args` is the shape of arguments: those of other programs than Tidegate's are removed. */
export const shapesOf = (args: Shape): Readonly<Record<string, Shape>> => ({
  deployments: object({
    spec: fields('replicas minReadySeconds revisionHistoryLimit progressDeadlineSeconds paused', {
      selector,
      template: template(args),
      strategy: fields('type', { rollingUpdate: fields('maxSurge maxUnavailable') }),
    }),
    status: fields(
      'observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas collisionCount',
      { conditions },
    ),
  }),
  pods: object({
    spec: podSpec(args),
    status: fields('phase reason message podIP hostIP startTime qosClass nominatedNodeName', {
      conditions,
      podIPs: fields('ip'),
      hostIPs: fields('ip'),
      containerStatuses: containerStatus,
      initContainerStatuses: containerStatus,
    }),
  }),
  services: object({
    spec: fields(
      'type clusterIP clusterIPs externalIPs externalName externalTrafficPolicy internalTrafficPolicy ipFamilies' +
        ' ipFamilyPolicy sessionAffinity publishNotReadyAddresses loadBalancerIP loadBalancerClass healthCheckNodePort',
      { ports: port, selector: labels },
    ),
    status: fields('', { loadBalancer, conditions }),
  }),
  configmaps: object({ immutable: 'keep', data: skeleton, binaryData: skeleton }),
  leases: object({
    spec: fields('holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions'),
  }),
  poddisruptionbudgets: object({
    spec: fields('minAvailable maxUnavailable', { selector }),
    status: fields('observedGeneration disruptionsAllowed currentHealthy desiredHealthy expectedPods', {
      conditions,
    }),
  }),
  networkpolicies: object({
    spec: fields('policyTypes', {
      podSelector: selector,
      ingress: fields('', { from: peer, ports: fields('port endPort protocol') }),
      egress: fields('', { to: peer, ports: fields('port endPort protocol') }),
    }),
  }),
  events: object({
    ...fields(
      'type reason message note action count firstTimestamp lastTimestamp eventTime reportingComponent',
    ),
    ...fields('reportingController reportingInstance'),
    involvedObject: reference,
    regarding: reference,
    related: reference,
    source: fields('component host'),
    series: fields('count lastObservedTime'),
  }),
  nodes: object({
    spec: fields('podCIDR podCIDRs providerID unschedulable', {
      taints: fields('key value effect timeAdded'),
    }),
    status: fields('phase', {
      conditions,
      addresses: fields('type address'),
      capacity: mapOf('keep'),
      allocatable: mapOf('keep'),
      nodeInfo: fields(
        'architecture containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion operatingSystem osImage',
      ),
    }),
  }),
  ingressclasses: object({
    spec: fields('controller', { parameters: fields('apiGroup kind name namespace scope') }),
  }),
  ingresses: object({
    spec: fields('ingressClassName', {
      defaultBackend: backend,
      tls: fields('hosts secretName'),
      rules: fields('host', { http: fields('', { paths: fields('path pathType', { backend }) }) }),
    }),
    status: fields('', { loadBalancer }),
  }),
  endpointslices: object({
    addressType: 'keep',
    ports: port,
    endpoints: fields('addresses hostname nodeName zone', {
      conditions: fields('ready serving terminating'),
      targetRef: reference,
      hints: fields('', { forZones: fields('name') }),
    }),
  }),
  validatingwebhookconfigurations: webhook,
  mutatingwebhookconfigurations: webhook,
});

const manifest = object({});
/** Fields of Tidegate's own kinds that take any value. */
const FREE: Fields = {
  metadata,
  annotations,
  manifests: manifest,
  overriders: skeleton,
  parameters: skeleton,
  // URLs and values of headers in RoutePolicies.
  externalAuth: skeleton,
  mirror: skeleton,
  canary: skeleton,
};

/**
 * The custom resources of Tidegate: their schemas name every field, and none is for credentials, except for the fields above.
 * The manifests of an application are objects of any kind, and its overriders contain parts of them.
 */
export const customResource = (value: unknown): unknown => {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return redactList(value, customResource);
  if (!isJsonMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => {
      const free = Object.hasOwn(FREE, key) ? FREE[key] : undefined;
      if (free !== undefined) return [key, applyShape(free, field)];
      return [key, isCredentialName(key) ? REDACTED : customResource(field)];
    }),
  );
};
