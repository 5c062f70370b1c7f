import type { Row, RowKind } from '@tidegate/console/wire';
import { type KubeObject, NODES, type Resource } from '@tidegate/kube';
import { L7_ROUTERS, NODE_GROUPS, NODE_POOLS } from '../api/index.ts';
import { nodeGroupRow, nodePoolRow, nodeRow, routerRow } from './rows.ts';

/** A resource that the console follows, and the rows that its objects become. */
export interface Source {
  kind: RowKind;
  resource: Resource;
  row(object: KubeObject): Row;
}

/** Connects the type of the resource to that of `row`. */
const source = <T>(
  kind: RowKind,
  resource: Omit<Resource, 'objectType'> & { objectType?: T },
  row: (object: T) => Row,
): Source => ({ kind, resource: resource as Resource, row: (object) => row(object as T) });

export const SOURCES: readonly Source[] = [
  source('Node', NODES, nodeRow),
  source('NodePool', NODE_POOLS, nodePoolRow),
  source('NodeGroup', NODE_GROUPS, nodeGroupRow),
  source('L7Router', L7_ROUTERS, routerRow),
];
