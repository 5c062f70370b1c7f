/** YurtAppDaemon of OpenYurt: a workload for each NodePool with certain labels, also for pools that are created later. */
import type { LabelSelector, Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  definition,
  labelSelector,
  list,
  object,
  wholeObject,
} from './schema.ts';
import {
  openYurtResource,
  revisionHistoryLimit,
  type WorkloadTemplate,
  workloadTemplate,
  type YurtAppStatus,
  yurtAppStatus,
} from './yurt-app-template.ts';

export type YurtAppDaemonSpec = {
  selector?: LabelSelector;
  workloadTemplate?: WorkloadTemplate;
  nodepoolSelector?: LabelSelector;
  revisionHistoryLimit?: number;
};

export type YurtAppDaemonStatus = YurtAppStatus & { nodepools?: string[] };

export type YurtAppDaemon = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: YurtAppDaemonSpec;
  status?: YurtAppDaemonStatus;
};

export const YURT_APP_DAEMONS = openYurtResource<YurtAppDaemon>('yurtappdaemons', 'v1alpha1');

const spec = object('Desired workloads, and the pools to deploy them to.', {
  selector: labelSelector('Selector of the workloads, if their template has none.'),
  workloadTemplate: workloadTemplate(),
  nodepoolSelector: labelSelector('Selects NodePools by their labels.'),
  revisionHistoryLimit: revisionHistoryLimit(),
});

const status = object('Most recently observed state of the workloads.', {
  ...yurtAppStatus('WorkLoadProvisioned, WorkLoadUpdated and WorkLoadFailure'),
  nodepools: list('Names of the selected NodePools.', { type: 'string' }),
});

const schema = wholeObject(
  'YurtAppDaemon deploys a workload to each NodePool with certain labels. Pods tolerate the taints of the pool.',
  spec,
  status,
);

export const yurtAppDaemonDefinition = (): CustomResourceDefinition =>
  definition({
    group: YURT_APP_DAEMONS.group,
    kind: 'YurtAppDaemon',
    plural: YURT_APP_DAEMONS.resource,
    shortNames: ['yad'],
    scope: 'Namespaced',
    versions: ['v1alpha1'],
    schema,
    columns: [
      {
        name: 'WorkloadTemplate',
        type: 'string',
        jsonPath: '.status.templateType',
        description: 'Kind of the workloads',
      },
      {
        name: 'Overrider',
        type: 'string',
        jsonPath: '.status.overriderRef',
        description: 'YurtAppOverrider that is applied',
      },
      ageColumn,
    ],
  });
