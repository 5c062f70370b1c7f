import { define, replicasPaths, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { labelSelectorString } from '../validation/selectors.ts';
import { validateReplicaCounts } from './status.ts';
import { selectorColumn, templateColumns } from './template.ts';
import type { Deployment } from './types.ts';
import { validateDeployment, validateDeploymentUpdate } from './validate.ts';
import { nameWarnings, templateWarnings } from './warnings.ts';

export const deployments = define<Deployment>({
  group: 'apps',
  kind: 'Deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  categories: ['all'],
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('apps', 'v1', 'Deployment'),
  scale: replicasPaths,
  table: [
    nameColumn,
    {
      name: 'Ready',
      description: 'Number of the pod with ready state',
      cell: ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    {
      name: 'Up-to-date',
      field: 'status.updatedReplicas',
      cell: ({ status }) => status.updatedReplicas ?? 0,
    },
    {
      name: 'Available',
      field: 'status.availableReplicas',
      cell: ({ status }) => status.availableReplicas ?? 0,
    },
    ageColumn,
    ...templateColumns<Deployment>(({ spec }) => spec.template),
    selectorColumn<Deployment>(({ spec }) => spec.selector, labelSelectorString),
  ],
  defaults: defaultDeployment,
  prepareForCreate: (deployment) => {
    deployment.status = {};
  },
  validate: validateDeployment,
  validateUpdate: validateDeploymentUpdate,
  validateStatusUpdate: ({ status }, old) => validateReplicaCounts(status, old.status),
  warnings: (deployment, old) => [
    ...nameWarnings(deployment, old),
    ...templateWarnings(deployment, old, ({ spec }) => spec.template),
  ],
});

function defaultDeployment({ spec }: Deployment): void {
  spec.replicas ??= 1;
  spec.strategy ??= {};
  spec.strategy.type ||= 'RollingUpdate';
  if (spec.strategy.type === 'RollingUpdate') {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= '25%';
    spec.strategy.rollingUpdate.maxSurge ??= '25%';
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  spec.template ??= {};
  defaultPodTemplate(spec.template);
}
