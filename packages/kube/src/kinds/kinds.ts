/** Built-in kinds: a type for the objects of each, and a Resource with their path in the API. */
import type * as apps from 'kubernetes-types/apps/v1.d.ts';
import type * as autoscaling from 'kubernetes-types/autoscaling/v2.d.ts';
import type * as batch from 'kubernetes-types/batch/v1.d.ts';
import type * as certificates from 'kubernetes-types/certificates/v1.d.ts';
import type * as coordination from 'kubernetes-types/coordination/v1.d.ts';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import type * as discovery from 'kubernetes-types/discovery/v1.d.ts';
import type * as networking from 'kubernetes-types/networking/v1.d.ts';
import type * as policy from 'kubernetes-types/policy/v1.d.ts';
import type * as rbac from 'kubernetes-types/rbac/v1.d.ts';
import type * as storage from 'kubernetes-types/storage/v1.d.ts';
import type { KubeObject } from '../base/object.ts';
import type { Resource } from '../client/resource.ts';

/** An object from the server, which has at least the fields that all objects have. */
type Served<K> = Omit<K, 'apiVersion' | 'kind' | 'metadata'> & KubeObject;

export type Namespace = Served<core.Namespace>;
export type Node = Served<core.Node>;
export type Pod = Served<core.Pod>;
export type Service = Served<core.Service>;
export type Endpoints = Served<core.Endpoints>;
export type ConfigMap = Served<core.ConfigMap>;
export type Secret = Served<core.Secret>;
export type ServiceAccount = Served<core.ServiceAccount>;
export type ReplicationController = Served<core.ReplicationController>;
export type PersistentVolume = Served<core.PersistentVolume>;
export type PersistentVolumeClaim = Served<core.PersistentVolumeClaim>;
export type Deployment = Served<apps.Deployment>;
export type ReplicaSet = Served<apps.ReplicaSet>;
export type DaemonSet = Served<apps.DaemonSet>;
export type StatefulSet = Served<apps.StatefulSet>;
export type ControllerRevision = Served<apps.ControllerRevision>;
export type Job = Served<batch.Job>;
export type CronJob = Served<batch.CronJob>;
export type HorizontalPodAutoscaler = Served<autoscaling.HorizontalPodAutoscaler>;
export type StorageClass = Served<storage.StorageClass>;
export type EndpointSlice = Served<discovery.EndpointSlice>;
export type Ingress = Served<networking.Ingress>;
export type IngressClass = Served<networking.IngressClass>;
export type Lease = Served<coordination.Lease>;
export type PodDisruptionBudget = Served<policy.PodDisruptionBudget>;
export type Role = Served<rbac.Role>;
export type RoleBinding = Served<rbac.RoleBinding>;
export type ClusterRole = Served<rbac.ClusterRole>;
export type ClusterRoleBinding = Served<rbac.ClusterRoleBinding>;
export type CertificateSigningRequest = Served<certificates.CertificateSigningRequest>;

/** A resource of version `v1`, unless another version is given. */
const namespaced = <T extends KubeObject>(group: string, resource: string, version = 'v1'): Resource<T> => ({
  group,
  version,
  resource,
  namespaced: true,
});

const cluster = <T extends KubeObject>(group: string, resource: string): Resource<T> => ({
  group,
  version: 'v1',
  resource,
  namespaced: false,
});

export const NAMESPACES = cluster<Namespace>('', 'namespaces');
export const NODES = cluster<Node>('', 'nodes');
export const PODS = namespaced<Pod>('', 'pods');
export const SERVICES = namespaced<Service>('', 'services');
export const ENDPOINTS = namespaced<Endpoints>('', 'endpoints');
export const CONFIG_MAPS = namespaced<ConfigMap>('', 'configmaps');
export const SECRETS = namespaced<Secret>('', 'secrets');
export const SERVICE_ACCOUNTS = namespaced<ServiceAccount>('', 'serviceaccounts');
export const REPLICATION_CONTROLLERS = namespaced<ReplicationController>('', 'replicationcontrollers');
export const PERSISTENT_VOLUMES = cluster<PersistentVolume>('', 'persistentvolumes');
export const PERSISTENT_VOLUME_CLAIMS = namespaced<PersistentVolumeClaim>('', 'persistentvolumeclaims');
export const DEPLOYMENTS = namespaced<Deployment>('apps', 'deployments');
export const REPLICA_SETS = namespaced<ReplicaSet>('apps', 'replicasets');
export const DAEMON_SETS = namespaced<DaemonSet>('apps', 'daemonsets');
export const STATEFUL_SETS = namespaced<StatefulSet>('apps', 'statefulsets');
export const CONTROLLER_REVISIONS = namespaced<ControllerRevision>('apps', 'controllerrevisions');
export const JOBS = namespaced<Job>('batch', 'jobs');
export const CRON_JOBS = namespaced<CronJob>('batch', 'cronjobs');
export const HORIZONTAL_POD_AUTOSCALERS = namespaced<HorizontalPodAutoscaler>(
  'autoscaling',
  'horizontalpodautoscalers',
  'v2',
);
export const STORAGE_CLASSES = cluster<StorageClass>('storage.k8s.io', 'storageclasses');
export const ENDPOINT_SLICES = namespaced<EndpointSlice>('discovery.k8s.io', 'endpointslices');
export const INGRESSES = namespaced<Ingress>('networking.k8s.io', 'ingresses');
export const INGRESS_CLASSES = cluster<IngressClass>('networking.k8s.io', 'ingressclasses');
export const LEASES = namespaced<Lease>('coordination.k8s.io', 'leases');
export const POD_DISRUPTION_BUDGETS = namespaced<PodDisruptionBudget>('policy', 'poddisruptionbudgets');
export const ROLES = namespaced<Role>('rbac.authorization.k8s.io', 'roles');
export const ROLE_BINDINGS = namespaced<RoleBinding>('rbac.authorization.k8s.io', 'rolebindings');
export const CLUSTER_ROLES = cluster<ClusterRole>('rbac.authorization.k8s.io', 'clusterroles');
export const CLUSTER_ROLE_BINDINGS = cluster<ClusterRoleBinding>(
  'rbac.authorization.k8s.io',
  'clusterrolebindings',
);
export const CERTIFICATE_SIGNING_REQUESTS = cluster<CertificateSigningRequest>(
  'certificates.k8s.io',
  'certificatesigningrequests',
);
