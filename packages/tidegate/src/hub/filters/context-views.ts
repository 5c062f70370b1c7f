import { CONFIG_MAPS, fixedCredential, SERVICES } from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../../api/index.ts';
import type { HeldView, Views } from '../views/index.ts';
import { CONFIGURATION_SELECTION } from './configuration.ts';

/** What filters look at, followed for as long as the hub runs. */
export interface ContextViews {
  services: HeldView;
  nodePools: HeldView;
  nodeGroups: HeldView;
  configuration: HeldView;
  release(): void;
}

export function openContextViews(views: Views): ContextViews {
  const held = {
    services: views.shared(SERVICES),
    nodePools: views.shared(NODE_POOLS),
    nodeGroups: views.shared(NODE_GROUPS),
    configuration: views.private(
      { identity: 'node', resource: CONFIG_MAPS, labelSelector: '', ...CONFIGURATION_SELECTION },
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
