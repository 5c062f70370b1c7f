import { CONFIG_MAPS, fixedCredential, SERVICES } from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../../api/index.ts';
import type { HeldView, Views } from '../views/index.ts';
import { CONFIGURATION_SELECTION } from './configuration.ts';

/** The views that filters depend on, followed for as long as the hub runs. */
export interface ContextViews {
  services: HeldView;
  nodePools: HeldView;
  nodeGroups: HeldView;
  /** Contains only the ConfigMap that configures the filters. */
  configuration: HeldView;
  release(): void;
}

/** Holds the views until `release`. They may still be empty: await `ready` of each. */
export function openContextViews(views: Views): ContextViews {
  const held = {
    services: views.shared(SERVICES),
    nodePools: views.shared(NODE_POOLS),
    nodeGroups: views.shared(NODE_GROUPS),
    configuration: views.private(
      { identity: 'node', resource: CONFIG_MAPS, labelSelector: '', ...CONFIGURATION_SELECTION },
      // Not used: views of the node are followed with the node's own client.
      fixedCredential({}),
    ),
  };
  return {
    ...held,
    release: () => {
      for (const { release } of Object.values(held)) release();
    },
  };
}
