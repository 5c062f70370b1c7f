// Which kinds the API server knows, and what the npm package kubernetes-models has wrong. facts/ has what it lacks.
// Names are without the prefix `io.k8s.api.`.

/** Kinds that are served or referenced below. Types that they reference are generated as well. */
export const kinds = {
  'core/v1':
    'Namespace Node Pod PodTemplate ReplicationController Service Endpoints ConfigMap Secret ServiceAccount Event Binding PersistentVolume PersistentVolumeClaim ResourceQuota LimitRange',
  'apps/v1': 'Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision',
  'batch/v1': 'Job CronJob',
  'autoscaling/v1': 'Scale HorizontalPodAutoscaler',
  'autoscaling/v2': 'HorizontalPodAutoscaler',
  'policy/v1': 'Eviction PodDisruptionBudget',
  'networking.k8s.io/v1': 'Ingress IngressClass NetworkPolicy ServiceCIDR IPAddress',
  'networking.k8s.io/v1beta1': 'Ingress IngressClass',
  'extensions/v1beta1': 'Ingress',
  'discovery.k8s.io/v1': 'EndpointSlice',
  'events.k8s.io/v1': 'Event',
  'coordination.k8s.io/v1': 'Lease',
  'node.k8s.io/v1': 'RuntimeClass',
  'scheduling.k8s.io/v1': 'PriorityClass',
  'storage.k8s.io/v1':
    'StorageClass CSIDriver CSINode CSIStorageCapacity VolumeAttachment VolumeAttributesClass',
  'rbac.authorization.k8s.io/v1': 'Role RoleBinding ClusterRole ClusterRoleBinding',
  'admissionregistration.k8s.io/v1':
    'MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding',
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition',
  'apiregistration.k8s.io/v1': 'APIService',
  'authentication.k8s.io/v1': 'TokenReview TokenRequest SelfSubjectReview',
  'authorization.k8s.io/v1':
    'SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview',
  'certificates.k8s.io/v1': 'CertificateSigningRequest',
  'flowcontrol.apiserver.k8s.io/v1': 'FlowSchema PriorityLevelConfiguration',
  'meta/v1': 'DeleteOptions Status',
};

const int64 = { type: 'integer', format: 'int64' };
const double = { type: 'number', format: 'double' };
const JSON_SCHEMA = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';

/** Where the package is wrong, by `Type.field`. */
export const corrections = {
  // The package repeats the type of the items here instead of naming it.
  'apps.v1.StatefulSetSpec.volumeClaimTemplates': {
    items: { $ref: 'io.k8s.api.core.v1.PersistentVolumeClaim' },
  },
  // The validator of this recursive type has another form than all others, so its numbers are given here.
  [`${JSON_SCHEMA}.maximum`]: double,
  [`${JSON_SCHEMA}.maxItems`]: int64,
  [`${JSON_SCHEMA}.maxLength`]: int64,
  [`${JSON_SCHEMA}.maxProperties`]: int64,
  [`${JSON_SCHEMA}.minimum`]: double,
  [`${JSON_SCHEMA}.minItems`]: int64,
  [`${JSON_SCHEMA}.minLength`]: int64,
  [`${JSON_SCHEMA}.minProperties`]: int64,
  [`${JSON_SCHEMA}.multipleOf`]: double,
};

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
