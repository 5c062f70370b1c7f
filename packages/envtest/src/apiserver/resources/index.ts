/**
 * The built-in resources: one file for each kind, with a `define` that reads like a table, and its defaults, validation
 * and printer columns next to it. A write runs: schema -> defaults -> prepareFor* -> validate -> store; see types.ts.
 * Subfolders are groups of related kinds. validation/ has the checks that they share, and golden/ compares all kinds
 * with recordings of kube-apiserver.
 */
import { apiservices } from './aggregation/apiservice.ts';
import { horizontalpodautoscalers } from './autoscaling/definition.ts';
import { cronjobs } from './batch/cronjob.ts';
import { jobs } from './batch/job.ts';
import { certificatesigningrequests } from './certificates/definition.ts';
import { priorityclasses } from './classes/priorityclass.ts';
import { runtimeclasses } from './classes/runtimeclass.ts';
import { configmaps } from './config/configmap.ts';
import { secrets } from './config/secret.ts';
import { customresourcedefinitions } from './core/customresourcedefinition.ts';
import { events, groupedEvents } from './core/event.ts';
import { leases } from './core/lease.ts';
import { namespaces } from './core/namespace.ts';
import { nodes } from './core/node.ts';
import { poddisruptionbudgets } from './core/poddisruptionbudget.ts';
import { serviceaccounts } from './core/serviceaccount.ts';
import { endpoints } from './endpoints/endpoints.ts';
import { endpointslices } from './endpoints/endpointslice.ts';
import type { BuiltinHooks } from './hooks.ts';
import { extensionsIngresses, ingresses } from './ingress/ingress.ts';
import { ingressclasses, proposedIngressClasses } from './ingress/ingressclass.ts';
import { networkpolicies } from './ingress/networkpolicy.ts';
import { pods } from './pod/definition.ts';
import { validatingadmissionpolicies, validatingadmissionpolicybindings } from './policies/definition.ts';
import { limitranges } from './quota/limitrange.ts';
import { resourcequotas } from './quota/resourcequota.ts';
import { clusterrolebindings, rolebindings } from './rbac/bindings.ts';
import { clusterroles, roles } from './rbac/roles.ts';
import { reviews } from './reviews/definition.ts';
import { services } from './service/definition.ts';
import { ipaddresses } from './service/ipaddress.ts';
import { servicecidrs } from './service/servicecidr.ts';
import { csidrivers } from './storage/csidriver.ts';
import { csinodes } from './storage/csinode.ts';
import { csistoragecapacities } from './storage/csistoragecapacity.ts';
import { persistentvolumes } from './storage/persistentvolume.ts';
import { persistentvolumeclaims } from './storage/persistentvolumeclaim.ts';
import { storageclasses } from './storage/storageclass.ts';
import { volumeattachments } from './storage/volumeattachment.ts';
import { volumeattributesclasses } from './storage/volumeattributesclass.ts';
import type { ResourceDefinition } from './types.ts';
import { mutatingwebhookconfigurations, validatingwebhookconfigurations } from './webhooks/definition.ts';
import { controllerrevisions } from './workloads/controllerrevision.ts';
import { daemonsets } from './workloads/daemonset.ts';
import { deployments } from './workloads/deployment.ts';
import { podtemplates } from './workloads/podtemplate.ts';
import { replicasets } from './workloads/replicaset.ts';
import { replicationcontrollers } from './workloads/replicationcontroller.ts';
import { statefulsets } from './workloads/statefulset.ts';

export { ServiceAllocator } from './service/allocator.ts';

export const builtinResources = (hooks: BuiltinHooks): ResourceDefinition[] => [
  apiservices,
  namespaces,
  nodes(hooks),
  pods(hooks),
  podtemplates,
  replicationcontrollers,
  services(hooks),
  endpoints,
  configmaps,
  secrets,
  serviceaccounts(hooks),
  resourcequotas,
  limitranges,
  persistentvolumes,
  persistentvolumeclaims,
  events,
  groupedEvents,
  deployments,
  replicasets,
  statefulsets,
  daemonsets,
  controllerrevisions,
  jobs,
  cronjobs,
  horizontalpodautoscalers,
  ingresses,
  extensionsIngresses,
  ingressclasses,
  proposedIngressClasses,
  networkpolicies,
  servicecidrs,
  ipaddresses,
  endpointslices,
  leases,
  poddisruptionbudgets,
  priorityclasses,
  runtimeclasses,
  storageclasses,
  volumeattributesclasses,
  volumeattachments,
  csidrivers,
  csinodes,
  csistoragecapacities,
  roles,
  rolebindings,
  clusterroles,
  clusterrolebindings,
  customresourcedefinitions(hooks),
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
  validatingadmissionpolicies,
  validatingadmissionpolicybindings,
  certificatesigningrequests,
  ...reviews(hooks),
];
