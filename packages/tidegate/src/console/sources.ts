import type { Row, RowKind } from '@tidegate/console/wire';
import {
  DAEMON_SETS,
  DEPLOYMENTS,
  INGRESSES,
  type KubeObject,
  NODES,
  PODS,
  type Resource,
  type SelectOptions,
  STATEFUL_SETS,
} from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATIONS,
  L7_ROUTERS,
  NODE_GROUPS,
  NODE_POOLS,
} from '../api/index.ts';
import {
  applicationRow,
  editionRow,
  ingressRow,
  nodeGroupRow,
  nodePoolRow,
  nodeRow,
  podRow,
  routerRow,
  type Workload,
} from './rows.ts';

/** A resource that the console follows, and the rows that its objects become. */
export interface Source {
  kind: RowKind;
  resource: Resource;
  select: SelectOptions;
  /** Undefined for an object that the console does not show. */
  row(object: KubeObject): Row | undefined;
}

/** Connects the type of the resource to that of `row`. */
function source<T>(
  kind: RowKind,
  resource: Omit<Resource, 'objectType'> & { objectType?: T },
  row: (object: T) => Row | undefined,
  select: SelectOptions = {},
): Source {
  return { kind, resource: resource as Resource, select, row: (object) => row(object as T) };
}

const OF_APPLICATIONS = { labelSelector: EDGE_APPLICATION_LABEL };

const workloads = (kind: string, resource: Omit<Resource, 'objectType'>): Source =>
  source<Workload>('Edition', resource, (workload) => editionRow(kind, workload), OF_APPLICATIONS);

export const SOURCES: readonly Source[] = [
  source('Node', NODES, nodeRow),
  source('NodePool', NODE_POOLS, nodePoolRow),
  source('NodeGroup', NODE_GROUPS, nodeGroupRow),
  source('L7Router', L7_ROUTERS, routerRow),
  source('Ingress', INGRESSES, ingressRow),
  source('EdgeApplication', EDGE_APPLICATIONS, applicationRow),
  workloads('Deployment', DEPLOYMENTS),
  workloads('StatefulSet', STATEFUL_SETS),
  workloads('DaemonSet', DAEMON_SETS),
  source('Pod', PODS, podRow),
];
