// The parts of the OpenAPI of Kubernetes that the npm package kubernetes-models lacks: how lists and maps merge,
// defaults of list keys, and types that are not plain structs. Names are without the prefix `io.k8s.api.`.

/** Kinds that are served or referenced below. Types that they reference are generated as well. */
export const kinds = {
  'core/v1':
    'Namespace Node Pod PodTemplate Service Endpoints ConfigMap Secret ServiceAccount Event Binding PersistentVolumeClaim',
  'apps/v1': 'Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision',
  'batch/v1': 'Job CronJob',
  'autoscaling/v1': 'Scale',
  'policy/v1': 'Eviction PodDisruptionBudget',
  'networking.k8s.io/v1': 'Ingress IngressClass NetworkPolicy',
  'networking.k8s.io/v1beta1': 'Ingress IngressClass',
  'extensions/v1beta1': 'Ingress',
  'discovery.k8s.io/v1': 'EndpointSlice',
  'events.k8s.io/v1': 'Event',
  'coordination.k8s.io/v1': 'Lease',
  'rbac.authorization.k8s.io/v1': 'Role RoleBinding ClusterRole ClusterRoleBinding',
  'admissionregistration.k8s.io/v1': 'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition',
  'authentication.k8s.io/v1': 'TokenReview TokenRequest SelfSubjectReview',
  'authorization.k8s.io/v1':
    'SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview',
  'certificates.k8s.io/v1': 'CertificateSigningRequest',
  'meta/v1': 'DeleteOptions Status',
};

const list = (type, extra) => ({ 'x-kubernetes-list-type': type, ...extra });
const patch = (strategy, key) => ({
  'x-kubernetes-patch-strategy': strategy,
  ...(key === undefined ? {} : { 'x-kubernetes-patch-merge-key': key }),
});
/** A list of objects told apart by these keys. */
const map = (...keys) => list('map', { 'x-kubernetes-list-map-keys': keys });
/** The same, and strategic merge patch knows it too, by the first key. */
const mergedMap = (...keys) => ({ ...map(...keys), ...patch('merge', keys[0]) });
const retainingMap = (key) => ({ ...map(key), ...patch('merge,retainKeys', key) });
const set = list('set');
const mergedSet = { ...set, ...patch('merge') };
const int64 = { type: 'integer', format: 'int64' };
const double = { type: 'number', format: 'double' };
const atomicMap = { 'x-kubernetes-map-type': 'atomic' };

/** Fields by `Type.field`. Lists that are not here are atomic. */
export const fields = {
  'admissionregistration.v1.MutatingWebhook.matchConditions': mergedMap('name'),
  'admissionregistration.v1.MutatingWebhookConfiguration.webhooks': mergedMap('name'),
  'admissionregistration.v1.ValidatingWebhook.matchConditions': mergedMap('name'),
  'admissionregistration.v1.ValidatingWebhookConfiguration.webhooks': mergedMap('name'),
  'apps.v1.DaemonSetStatus.conditions': mergedMap('type'),
  'apps.v1.DeploymentSpec.strategy': patch('retainKeys'),
  'apps.v1.DeploymentStatus.conditions': mergedMap('type'),
  'apps.v1.ReplicaSetStatus.conditions': mergedMap('type'),
  'apps.v1.StatefulSetStatus.conditions': mergedMap('type'),
  // The package repeats the type of the items here instead of naming it.
  'apps.v1.StatefulSetSpec.volumeClaimTemplates': {
    items: { $ref: 'io.k8s.api.core.v1.PersistentVolumeClaim' },
  },
  'batch.v1.JobStatus.conditions': list('atomic', patch('merge', 'type')),
  'batch.v1.PodFailurePolicyOnExitCodesRequirement.values': set,
  'batch.v1.UncountedTerminatedPods.failed': set,
  'batch.v1.UncountedTerminatedPods.succeeded': set,
  'certificates.v1.CertificateSigningRequestStatus.conditions': map('type'),
  'core.v1.AzureDiskVolumeSource.cachingMode': { default: 'ReadWrite' },
  'core.v1.AzureDiskVolumeSource.fsType': { default: 'ext4' },
  'core.v1.AzureDiskVolumeSource.kind': { default: 'Shared' },
  'core.v1.ConfigMapEnvSource.name': { default: '' },
  'core.v1.ConfigMapKeySelector.name': { default: '' },
  'core.v1.ConfigMapProjection.name': { default: '' },
  'core.v1.ConfigMapVolumeSource.name': { default: '' },
  'core.v1.Container.env': mergedMap('name'),
  'core.v1.Container.ports': mergedMap('containerPort', 'protocol'),
  'core.v1.Container.volumeDevices': mergedMap('devicePath'),
  'core.v1.Container.volumeMounts': mergedMap('mountPath'),
  'core.v1.ContainerPort.protocol': { default: 'TCP' },
  'core.v1.ContainerRestartRuleOnExitCodes.values': set,
  'core.v1.ContainerStatus.allocatedResourcesStatus': mergedMap('name'),
  'core.v1.ContainerStatus.volumeMounts': mergedMap('mountPath'),
  'core.v1.EphemeralContainer.env': mergedMap('name'),
  'core.v1.EphemeralContainer.ports': mergedMap('containerPort', 'protocol'),
  'core.v1.EphemeralContainer.volumeDevices': mergedMap('devicePath'),
  'core.v1.EphemeralContainer.volumeMounts': mergedMap('mountPath'),
  'core.v1.GRPCAction.service': { default: '' },
  'core.v1.ISCSIVolumeSource.iscsiInterface': { default: 'default' },
  'core.v1.LocalObjectReference.name': { default: '' },
  'core.v1.NamespaceStatus.conditions': mergedMap('type'),
  'core.v1.NodeAllocatableResourceClaimStatus.containers': set,
  'core.v1.NodeSpec.podCIDRs': mergedSet,
  'core.v1.NodeStatus.addresses': mergedMap('type'),
  'core.v1.NodeStatus.conditions': mergedMap('type'),
  'core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses': { 'x-kubernetes-map-type': 'granular' },
  'core.v1.PersistentVolumeClaimStatus.conditions': mergedMap('type'),
  'core.v1.PodSpec.containers': mergedMap('name'),
  'core.v1.PodSpec.ephemeralContainers': mergedMap('name'),
  'core.v1.PodSpec.hostAliases': mergedMap('ip'),
  'core.v1.PodSpec.imagePullSecrets': mergedMap('name'),
  'core.v1.PodSpec.initContainers': mergedMap('name'),
  'core.v1.PodSpec.nodeSelector': atomicMap,
  'core.v1.PodSpec.resourceClaims': retainingMap('name'),
  'core.v1.PodSpec.schedulingGates': mergedMap('name'),
  'core.v1.PodSpec.topologySpreadConstraints': mergedMap('topologyKey', 'whenUnsatisfiable'),
  'core.v1.PodSpec.volumes': retainingMap('name'),
  'core.v1.PodStatus.conditions': mergedMap('type'),
  'core.v1.PodStatus.hostIPs': list('atomic', patch('merge', 'ip')),
  'core.v1.PodStatus.podIPs': mergedMap('ip'),
  'core.v1.PodStatus.resourceClaimStatuses': retainingMap('name'),
  'core.v1.RBDVolumeSource.keyring': { default: '/etc/ceph/keyring' },
  'core.v1.RBDVolumeSource.pool': { default: 'rbd' },
  'core.v1.RBDVolumeSource.user': { default: 'admin' },
  'core.v1.ResourceRequirements.claims': map('name'),
  'core.v1.ResourceStatus.resources': map('resourceID'),
  'core.v1.ScaleIOVolumeSource.fsType': { default: 'xfs' },
  'core.v1.ScaleIOVolumeSource.storageMode': { default: 'ThinProvisioned' },
  'core.v1.SecretEnvSource.name': { default: '' },
  'core.v1.SecretKeySelector.name': { default: '' },
  'core.v1.SecretProjection.name': { default: '' },
  'core.v1.ServiceAccount.secrets': mergedMap('name'),
  'core.v1.ServicePort.protocol': { default: 'TCP' },
  'core.v1.ServiceSpec.ports': mergedMap('port', 'protocol'),
  'core.v1.ServiceSpec.selector': atomicMap,
  'core.v1.ServiceStatus.conditions': mergedMap('type'),
  'discovery.v1.Endpoint.addresses': set,
  'policy.v1.PodDisruptionBudgetSpec.selector': patch('replace'),
  'policy.v1.PodDisruptionBudgetStatus.conditions': mergedMap('type'),
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus.conditions':
    map('type'),
  // The validator of this recursive type has another form than all others, so its numbers are told here.
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.maximum': double,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.maxItems': int64,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.maxLength': int64,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.maxProperties': int64,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.minimum': double,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.minItems': int64,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.minLength': int64,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.minProperties': int64,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.multipleOf': double,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps.x-kubernetes-validations':
    mergedMap('rule'),
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.finalizers': mergedSet,
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.ownerReferences': mergedMap('uid'),
};

/** Structs that server-side apply owns as a whole. */
export const atomicTypes = [
  'core.v1.ConfigMapKeySelector',
  'core.v1.EndpointAddress',
  'core.v1.EndpointPort',
  'core.v1.FileKeySelector',
  'core.v1.LocalObjectReference',
  'core.v1.NodeSelector',
  'core.v1.NodeSelectorTerm',
  'core.v1.ObjectFieldSelector',
  'core.v1.ObjectReference',
  'core.v1.ResourceFieldSelector',
  'core.v1.SecretKeySelector',
  'core.v1.TypedLocalObjectReference',
  'discovery.v1.EndpointPort',
  'networking.v1.ServiceBackendPort',
  'rbac.v1.RoleRef',
  'rbac.v1.Subject',
  'io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector',
  'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference',
];

const anything = { 'x-kubernetes-preserve-unknown-fields': true };
const anyObject = { type: 'object', ...anything };

/** Types with a JSON form of their own. */
export const types = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { format: 'quantity' },
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': {
    format: 'int-or-string',
    'x-kubernetes-int-or-string': true,
  },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: 'string', format: 'date-time' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': { type: 'string', format: 'micro-time' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': anyObject,
  'io.k8s.apimachinery.pkg.runtime.RawExtension': anyObject,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': anything,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': anything,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': anything,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': anything,
};
