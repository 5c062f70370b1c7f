import { define, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn, type TableColumn } from '../table.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { formatLabels } from '../validation/selectors.ts';
import { selectorColumn, templateColumns } from './template.ts';
import type { DaemonSet } from './types.ts';
import { validateDaemonSet, validateDaemonSetUpdate } from './validate.ts';
import { templateWarnings } from './warnings.ts';

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

const count = (name: string, field: keyof DaemonSet['status']): TableColumn<DaemonSet> => ({
  name,
  type: 'integer',
  field: `status.${field}`,
  cell: ({ status }) => status[field] ?? 0,
});

const noneScheduled = (): DaemonSet['status'] => ({
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
});

export const daemonsets = define<DaemonSet>({
  group: 'apps',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  shortNames: ['ds'],
  categories: ['all'],
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('apps', 'v1', 'DaemonSet'),
  table: [
    nameColumn,
    count('Desired', 'desiredNumberScheduled'),
    count('Current', 'currentNumberScheduled'),
    count('Ready', 'numberReady'),
    count('Up-to-date', 'updatedNumberScheduled'),
    count('Available', 'numberAvailable'),
    {
      name: 'Node Selector',
      field: 'spec.template.spec.nodeSelector',
      cell: ({ spec }) => formatLabels(spec.template?.spec?.nodeSelector),
    },
    ageColumn,
    ...templateColumns<DaemonSet>(({ spec }) => spec.template),
    selectorColumn<DaemonSet>(({ spec }) => spec.selector),
  ],
  defaults: defaultDaemonSet,
  prepareForCreate(daemonSet) {
    daemonSet.status = noneScheduled();
    countTemplates(daemonSet, 1);
  },
  prepareForUpdate(daemonSet, old) {
    const before = Number(old.metadata.annotations?.[TEMPLATE_GENERATION] ?? 0);
    const changed = !semanticallyEqual(daemonSet.spec.template, old.spec.template);
    countTemplates(daemonSet, changed ? before + 1 : before);
  },
  validate: validateDaemonSet,
  validateUpdate: validateDaemonSetUpdate,
  warnings: (daemonSet, old) => templateWarnings(daemonSet, old, ({ spec }) => spec.template),
});

/** A legacy annotation from before ControllerRevisions that clients still see. */
function countTemplates({ metadata }: DaemonSet, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

function defaultDaemonSet(daemonSet: DaemonSet): void {
  const { spec } = daemonSet;
  spec.updateStrategy ??= {};
  spec.updateStrategy.type ||= 'RollingUpdate';
  if (spec.updateStrategy.type === 'RollingUpdate') {
    spec.updateStrategy.rollingUpdate ??= {};
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  spec.template ??= {};
  defaultPodTemplate(spec.template);
  daemonSet.status = { ...noneScheduled(), ...daemonSet.status };
}
