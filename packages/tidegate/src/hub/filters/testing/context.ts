import { type KubeObject, type Resource, SERVICES } from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../../../api/index.ts';
import { HubContext } from '../context.ts';
import type { FilterContext } from '../filter.ts';
import { TestView } from './test-view.ts';

export interface TestContext {
  context: HubContext;
  services: TestView;
  nodePools: TestView;
  nodeGroups: TestView;
}

/** The context of a hub on `nodeName`, in a cluster with these Services, NodePools and NodeGroups. */
export function contextOf(
  objects: readonly KubeObject[],
  { nodeName = 'a1', hub = { host: '169.254.2.1', port: 10268 } }: Partial<FilterContext> = {},
): TestContext {
  const viewOf = (kind: string, resource: Resource): TestView =>
    new TestView(
      resource,
      objects.filter((object) => object.kind === kind),
    );
  const views = {
    services: viewOf('Service', SERVICES),
    nodePools: viewOf('NodePool', NODE_POOLS as Resource),
    nodeGroups: viewOf('NodeGroup', NODE_GROUPS as Resource),
  };
  return { ...views, context: new HubContext({ nodeName, hub, ...views }) };
}
