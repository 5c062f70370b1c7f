/** What the application kinds of OpenYurt share: the template of a workload, and the conditions and summaries of a status. */
import type { Condition, KindResource } from './object.ts';
import { anything, conditions, integer, list, object, type Schema, text } from './schema.ts';

/** The metadata and spec of a Deployment or a StatefulSet. The API server validates them when the workload is created. */
export type WorkloadTemplateBody = {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
};

/** Exactly one of the two. */
export type WorkloadTemplate = {
  deploymentTemplate?: WorkloadTemplateBody;
  statefulSetTemplate?: WorkloadTemplateBody;
};

export type TemplateType = 'Deployment' | 'StatefulSet';

/** The state of one workload. */
export type WorkloadSummary = {
  availableCondition: Condition['status'];
  replicas: number;
  readyReplicas: number;
  workloadName: string;
};

/** The fields of the status that YurtAppSet and YurtAppDaemon share. */
export type YurtAppStatus = {
  observedGeneration?: number;
  collisionCount?: number;
  currentRevision?: string;
  conditions?: Condition[];
  /** The YurtAppOverrider that is applied. */
  overriderRef?: string;
  templateType?: TemplateType;
  workloadSummary?: WorkloadSummary[];
};

const GROUP = 'apps.openyurt.io';
/** The API server limits the size of objects, and an EdgeApplication has this limit too. */
export const MOST_POOLS = 1_000;

export const openYurtResource = <T>(resource: string, version: string): KindResource<T> => ({
  group: GROUP,
  version,
  resource,
  namespaced: true,
});

const body = (kind: TemplateType): Schema =>
  object(`Template of a ${kind}.`, {
    metadata: anything(`Labels and annotations of each ${kind}.`),
    spec: anything(`Spec of each ${kind}.`),
  });

export const workloadTemplate = (): Schema =>
  object('Template of the workloads. Exactly one kind must be set.', {
    deploymentTemplate: body('Deployment'),
    statefulSetTemplate: body('StatefulSet'),
  });

export const revisionHistoryLimit = (): Schema =>
  integer('Number of old revisions to keep. Default: 10.', { minimum: 0 });

export const poolNames = (description: string): Schema =>
  list(description, { type: 'string', minLength: 1, maxLength: 63 }, { maxItems: MOST_POOLS });

/** An operation of JSON Patch, as OpenYurt spells it. The value can be of any type, so the schema does not name it. */
export const patches = (placeholder: string): Schema =>
  list(
    'Changes to the workload, as JSON Patches, applied in order.',
    object(
      'A change.',
      {
        path: text('JSON Pointer to the field, for example /spec/template/spec/hostNetwork.'),
        operation: text('Operation to apply.', { enum: ['add', 'remove', 'replace'] }),
        value: {
          description: `Value to add or to replace. ${placeholder} stands for the name of the pool.`,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
      { required: ['path', 'operation'] },
    ),
  );

export const yurtAppStatus = (conditionTypes: string): Record<string, Schema> => ({
  observedGeneration: {
    type: 'integer',
    format: 'int64',
    description: 'Generation of the spec that the status was computed from.',
  },
  collisionCount: integer('Number of names of revisions that were in use for other contents.'),
  currentRevision: text('Name of the ControllerRevision with the current templates and tweaks.'),
  conditions: conditions(`Conditions: ${conditionTypes}.`),
  overriderRef: text('Name of the YurtAppOverrider that is applied.'),
  templateType: text('Kind of the workloads: Deployment or StatefulSet.'),
  workloadSummary: list(
    'State of each workload.',
    object('State of one workload.', {
      availableCondition: text('Whether the workload is available: True, False or Unknown.'),
      replicas: integer('Number of pods.'),
      readyReplicas: integer('Number of ready pods.'),
      workloadName: text('Name of the workload.'),
    }),
  ),
});
