/** The default roles and bindings of a new cluster. */
import type { KubeObject } from '@tidegate/kube';
import type { PolicyRule } from './rules.ts';

const API_VERSION = 'rbac.authorization.k8s.io/v1';
const LABELS = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const ANNOTATIONS = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' };

const words = (text: string): string[] => text.split(' ').map((word) => (word === 'core' ? '' : word));

/** `allow('get list', 'core apps', 'pods deployments')`; the core group, which has an empty name, is written `core`. */
const allow = (verbs: string, groups: string, resources: string, names?: string): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: words(groups),
  resources: words(resources),
  ...(names === undefined ? {} : { resourceNames: words(names) }),
});
const allowPaths = (verbs: string, paths: string): PolicyRule => ({
  verbs: words(verbs),
  nonResourceURLs: words(paths),
});

const READ = 'get list watch';
const WRITE = 'create delete deletecollection patch update';
const ALL = 'create delete deletecollection get list patch update watch';
const EVENTS = allow('create patch update', 'core events.k8s.io', 'events');

const VIEW: PolicyRule[] = [
  allow(
    READ,
    'core',
    'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
  ),
  allow(
    READ,
    'core',
    'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
  ),
  allow(READ, 'core', 'namespaces'),
  allow(READ, 'core events.k8s.io', 'events'),
  allow(READ, 'discovery.k8s.io', 'endpointslices'),
  allow(
    READ,
    'apps',
    'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
  ),
  allow(READ, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
  allow(READ, 'batch', 'cronjobs cronjobs/status jobs jobs/status'),
  allow(
    READ,
    'extensions',
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
  ),
  allow(READ, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'),
  allow(READ, 'networking.k8s.io', 'ingresses ingresses/status networkpolicies'),
  allow(READ, 'resource.k8s.io', 'resourceclaims resourceclaims/status resourceclaimtemplates'),
];

const EDIT: PolicyRule[] = [
  allow(READ, 'core', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
  allow('impersonate', 'core', 'serviceaccounts'),
  allow(WRITE, 'core', 'pods pods/attach pods/exec pods/portforward pods/proxy'),
  allow('create', 'core', 'pods/eviction'),
  allow(
    WRITE,
    'core',
    'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
  ),
  allow('create', 'core', 'serviceaccounts/token'),
  allow(WRITE, 'core events.k8s.io', 'events'),
  allow(
    WRITE,
    'apps',
    'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
  ),
  allow(WRITE, 'autoscaling', 'horizontalpodautoscalers'),
  allow(WRITE, 'batch', 'cronjobs jobs'),
  allow(
    WRITE,
    'extensions',
    'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
  ),
  allow(WRITE, 'policy', 'poddisruptionbudgets'),
  allow(WRITE, 'networking.k8s.io', 'ingresses networkpolicies'),
  allow(ALL, 'coordination.k8s.io', 'leases'),
  allow(WRITE, 'resource.k8s.io', 'resourceclaims resourceclaimtemplates'),
];

const ADMIN: PolicyRule[] = [
  allow('create', 'authorization.k8s.io', 'localsubjectaccessreviews'),
  allow(ALL, 'rbac.authorization.k8s.io', 'rolebindings roles'),
];

/** The permissions of all nodes. The node authorizer restricts them to particular objects. */
export const NODE_RULES: PolicyRule[] = [
  allow('create', 'authentication.k8s.io', 'tokenreviews'),
  allow('create', 'authorization.k8s.io', 'localsubjectaccessreviews subjectaccessreviews'),
  allow(READ, 'core', 'services'),
  allow('create get list watch', 'core', 'nodes'),
  allow('patch update', 'core', 'nodes/status'),
  allow('patch update', 'core', 'nodes'),
  EVENTS,
  allow(READ, 'core', 'pods'),
  allow('create delete', 'core', 'pods'),
  allow('patch update', 'core', 'pods/status'),
  allow('create', 'core', 'pods/eviction'),
  allow(READ, 'core', 'configmaps secrets'),
  allow('get', 'core', 'persistentvolumeclaims persistentvolumes'),
  allow('get', 'core', 'endpoints'),
  allow('create get list watch', 'certificates.k8s.io', 'certificatesigningrequests'),
  allow('create delete get patch update', 'coordination.k8s.io', 'leases'),
  allow('get', 'storage.k8s.io', 'volumeattachments'),
  allow('create', 'core', 'serviceaccounts/token'),
  allow('get patch update', 'core', 'persistentvolumeclaims/status'),
  allow(READ, 'storage.k8s.io', 'csidrivers'),
  allow('create delete get patch update', 'storage.k8s.io', 'csinodes'),
  allow(READ, 'node.k8s.io', 'runtimeclasses'),
  allow('get', 'resource.k8s.io', 'resourceclaims'),
  allow('deletecollection', 'resource.k8s.io', 'resourceslices'),
  allow('get', 'core', 'serviceaccounts'),
];

const CLUSTER_ROLES: Record<string, PolicyRule[]> = {
  'cluster-admin': [allow('*', '*', '*'), allowPaths('*', '*')],
  'system:auth-delegator': [
    allow('create', 'authentication.k8s.io', 'tokenreviews'),
    allow('create', 'authorization.k8s.io', 'subjectaccessreviews'),
  ],
  'system:basic-user': [
    allow('create', 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    allow('create', 'authentication.k8s.io', 'selfsubjectreviews'),
  ],
  'system:discovery': [
    allowPaths(
      'get',
      '/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/',
    ),
  ],
  'system:public-info-viewer': [allowPaths('get', '/healthz /livez /readyz /version /version/')],
  'system:monitoring': [
    allowPaths(
      'get',
      '/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz',
    ),
    allow('get', 'core', 'nodes/metrics'),
  ],
  'system:service-account-issuer-discovery': [
    allowPaths(
      'get',
      '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/',
    ),
  ],
  'system:node': NODE_RULES,
  'system:node-bootstrapper': [
    allow('create get list watch', 'certificates.k8s.io', 'certificatesigningrequests'),
  ],
  'system:node-proxier': [
    allow('list watch', 'core', 'endpoints services'),
    allow(READ, 'core', 'nodes'),
    EVENTS,
    allow('list watch', 'networking.k8s.io', 'servicecidrs'),
    allow('list watch', 'discovery.k8s.io', 'endpointslices'),
  ],
  'system:node-problem-detector': [
    allow('get', 'core', 'nodes'),
    allow('patch', 'core', 'nodes/status'),
    EVENTS,
  ],
  'system:kubelet-api-admin': [
    allow(READ, 'core', 'nodes'),
    allow('proxy', 'core', 'nodes'),
    allow('*', 'core', 'nodes/log nodes/metrics nodes/proxy nodes/stats'),
    allow('*', 'core', 'nodes/configz nodes/healthz nodes/pods'),
  ],
  'system:kube-dns': [allow('list watch', 'core', 'endpoints services')],
  'system:kube-controller-manager': [
    EVENTS,
    allow('create', 'coordination.k8s.io', 'leases'),
    allow('get update', 'coordination.k8s.io', 'leases', 'kube-controller-manager'),
    allow('create', 'core', 'secrets serviceaccounts'),
    allow('delete', 'core', 'secrets'),
    allow('get', 'core', 'configmaps namespaces secrets serviceaccounts'),
    allow('update', 'core', 'secrets serviceaccounts'),
    allow('create', 'authentication.k8s.io', 'tokenreviews'),
    allow('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    allow('list watch', '*', '*'),
    allow('create', 'core', 'serviceaccounts/token'),
  ],
  'system:kube-scheduler': [
    EVENTS,
    allow('create', 'coordination.k8s.io', 'leases'),
    allow('get list update watch', 'coordination.k8s.io', 'leases', 'kube-scheduler'),
    allow(READ, 'core', 'nodes'),
    allow('delete get list watch', 'core', 'pods'),
    allow('create', 'core', 'bindings pods/binding'),
    allow('patch update', 'core', 'pods/status'),
    allow(READ, 'core', 'replicationcontrollers services'),
    allow(READ, 'apps extensions', 'replicasets'),
    allow(READ, 'apps', 'statefulsets'),
    allow(READ, 'policy', 'poddisruptionbudgets'),
    allow(READ, 'core', 'persistentvolumeclaims persistentvolumes'),
    allow('create', 'authentication.k8s.io', 'tokenreviews'),
    allow('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    allow(READ, 'storage.k8s.io', 'csidrivers csinodes csistoragecapacities volumeattachments'),
    allow(READ, 'core', 'namespaces'),
  ],
  'system:certificates.k8s.io:certificatesigningrequests:nodeclient': [
    allow('create', 'certificates.k8s.io', 'certificatesigningrequests/nodeclient'),
  ],
  'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient': [
    allow('create', 'certificates.k8s.io', 'certificatesigningrequests/selfnodeclient'),
  ],
  'system:certificates.k8s.io:kube-apiserver-client-approver': [
    allow('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kube-apiserver-client'),
  ],
  'system:certificates.k8s.io:kube-apiserver-client-kubelet-approver': [
    allow('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kube-apiserver-client-kubelet'),
  ],
  'system:certificates.k8s.io:kubelet-serving-approver': [
    allow('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kubelet-serving'),
  ],
  'system:certificates.k8s.io:legacy-unknown-approver': [
    allow('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/legacy-unknown'),
  ],
};

type SubjectText = `${'User' | 'Group'} ${string}`;

const CLUSTER_ROLE_BINDINGS: Record<string, SubjectText[]> = {
  'cluster-admin': ['Group system:masters'],
  'system:basic-user': ['Group system:authenticated'],
  'system:discovery': ['Group system:authenticated'],
  'system:public-info-viewer': ['Group system:authenticated', 'Group system:unauthenticated'],
  'system:monitoring': ['Group system:monitoring'],
  'system:service-account-issuer-discovery': ['Group system:serviceaccounts'],
  'system:node': [],
  'system:node-proxier': ['User system:kube-proxy'],
  'system:kube-controller-manager': ['User system:kube-controller-manager'],
  'system:kube-scheduler': ['User system:kube-scheduler'],
};

/** Sorted in creation order. */
export function bootstrapPolicy(): KubeObject[] {
  return [
    ...Object.entries(CLUSTER_ROLES).map(([name, rules]) => clusterRole(name, rules)),
    clusterRole('system:aggregate-to-admin', ADMIN, 'admin'),
    clusterRole('system:aggregate-to-edit', EDIT, 'edit'),
    clusterRole('system:aggregate-to-view', VIEW, 'view'),
    // The aggregation controller may not be running, so the aggregated rules are included from the start.
    aggregated('admin', [...ADMIN, ...EDIT, ...VIEW]),
    aggregated('edit', [...EDIT, ...VIEW], 'admin'),
    aggregated('view', VIEW, 'edit'),
    ...Object.entries(CLUSTER_ROLE_BINDINGS).map(([name, subjects]) => clusterRoleBinding(name, subjects)),
  ];
}

const aggregateLabel = (target: string): string => `rbac.authorization.k8s.io/aggregate-to-${target}`;

function clusterRole(name: string, rules: PolicyRule[], aggregateTo?: string): KubeObject {
  const labels = {
    ...LABELS,
    ...(aggregateTo === undefined ? {} : { [aggregateLabel(aggregateTo)]: 'true' }),
  };
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: { name, labels, annotations: { ...ANNOTATIONS } },
    rules: structuredClone(rules),
  };
}

function aggregated(name: string, rules: PolicyRule[], aggregateTo?: string): KubeObject {
  return {
    ...clusterRole(name, rules, aggregateTo),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregateLabel(name)]: 'true' } }] },
  };
}

function clusterRoleBinding(name: string, subjects: SubjectText[]): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: { ...LABELS }, annotations: { ...ANNOTATIONS } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    ...(subjects.length === 0 ? {} : { subjects: subjects.map(subjectOf) }),
  };
}

function subjectOf(text: SubjectText): { apiGroup: string; kind: string; name: string } {
  const space = text.indexOf(' ');
  return { apiGroup: 'rbac.authorization.k8s.io', kind: text.slice(0, space), name: text.slice(space + 1) };
}
