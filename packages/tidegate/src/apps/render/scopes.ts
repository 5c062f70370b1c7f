import { type GroupVersionKind, parseApiVersion } from '@tidegate/kube';

/** Returns the scope of a kind, or undefined if the cluster does not have the kind. */
export type ScopeOf = (kind: GroupVersionKind) => 'Namespaced' | 'Cluster' | undefined;

const CLUSTER_KINDS = new Set([
  '/Namespace',
  '/Node',
  '/PersistentVolume',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'apiregistration.k8s.io/APIService',
  'apps.kubeedge.io/NodeGroup',
  'apps.openyurt.io/NodePool',
  'apps.openyurt.io/YurtIngress',
  'certificates.k8s.io/CertificateSigningRequest',
  'flowcontrol.apiserver.k8s.io/FlowSchema',
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration',
  'networking.k8s.io/IngressClass',
  'networking.tidegate.io/HostClaim',
  'networking.tidegate.io/IngressClassPolicy',
  'networking.tidegate.io/L7Router',
  'networking.tidegate.io/RouterProvisioner',
  'node.k8s.io/RuntimeClass',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/CSINode',
  'storage.k8s.io/StorageClass',
  'storage.k8s.io/VolumeAttachment',
]);

/** For use without a cluster: takes kinds that are not in the list to be namespaced, as most kinds are. */
export const builtInScopes: ScopeOf = ({ group, kind }) =>
  CLUSTER_KINDS.has(`${group}/${kind}`) ? 'Cluster' : 'Namespaced';

/** Returns the group, version and kind of an object. */
export const kindOf = ({ apiVersion, kind }: { apiVersion: string; kind: string }): GroupVersionKind => ({
  ...parseApiVersion(apiVersion),
  kind,
});
