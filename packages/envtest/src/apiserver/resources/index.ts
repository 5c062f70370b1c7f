/**
 * The built-in resources: one file for each kind, with a `define` that reads like a table, and its defaults, validation
 * and printer columns next to it. A write runs: schema -> defaults -> prepareFor* -> validate -> store; see types.ts.
 * Subfolders are groups of related kinds. validation/ has the checks that they share, and golden/ compares all kinds
 * with recordings of kube-apiserver.
 */
import { cronjobs } from './batch/cronjob.ts';
import { jobs } from './batch/job.ts';
import { certificatesigningrequests } from './certificates/definition.ts';
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
import { ingressclasses } from './ingress/ingressclass.ts';
import { networkpolicies } from './ingress/networkpolicy.ts';
import { pods } from './pod/definition.ts';
import { clusterrolebindings, rolebindings } from './rbac/bindings.ts';
import { clusterroles, roles } from './rbac/roles.ts';
import { reviews } from './reviews/definition.ts';
import { services } from './service/definition.ts';
import type { ResourceDefinition } from './types.ts';
import { mutatingwebhookconfigurations, validatingwebhookconfigurations } from './webhooks/definition.ts';
import { controllerrevisions } from './workloads/controllerrevision.ts';
import { daemonsets } from './workloads/daemonset.ts';
import { deployments } from './workloads/deployment.ts';
import { replicasets } from './workloads/replicaset.ts';
import { statefulsets } from './workloads/statefulset.ts';

export { ServiceAllocator } from './service/allocator.ts';

export const builtinResources = (hooks: BuiltinHooks): ResourceDefinition[] => [
  namespaces,
  nodes(hooks),
  pods(hooks),
  services(hooks),
  endpoints,
  configmaps,
  secrets,
  serviceaccounts(hooks),
  events,
  groupedEvents,
  deployments,
  replicasets,
  statefulsets,
  daemonsets,
  controllerrevisions,
  jobs,
  cronjobs,
  ingresses,
  extensionsIngresses,
  ingressclasses,
  networkpolicies,
  endpointslices,
  leases,
  poddisruptionbudgets,
  roles,
  rolebindings,
  clusterroles,
  clusterrolebindings,
  customresourcedefinitions(hooks),
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
  certificatesigningrequests,
  ...reviews(hooks),
];
