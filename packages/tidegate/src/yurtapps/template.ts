import type { KubeObject } from '@tidegate/kube';
import type { TemplateType, WorkloadTemplate, YurtAppDaemon, YurtAppSet } from '../api/index.ts';

/** An application of OpenYurt. */
export type YurtApp = YurtAppSet | YurtAppDaemon;

/** A field of an object of OpenYurt that cannot be applied, and what to do. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** The workload of the template, before the changes for a pool. */
export interface BaseWorkload {
  readonly type: TemplateType;
  /** The field of the template, for error messages. */
  readonly path: string;
  readonly object: KubeObject;
}

export const isYurtAppSet = (app: YurtApp): app is YurtAppSet => app.kind === 'YurtAppSet';

/** Whether the fields are those of v1beta1. v1alpha1 has no `spec.workload`. */
export const isBeta = ({ spec }: YurtAppSet): boolean => spec?.workload !== undefined;

/**
 * Reads the template. The name in it does not count: OpenYurt names workloads after the application. In v1alpha1, the selector
 * is next to the template.
 */
export function baseWorkload(app: YurtApp): BaseWorkload | FieldError {
  const mixed = mixedVersions(app);
  if (mixed !== undefined) return mixed;
  const [template, path] = templateOf(app);
  const { deploymentTemplate, statefulSetTemplate } = template;
  if ((deploymentTemplate === undefined) === (statefulSetTemplate === undefined))
    return {
      path,
      message:
        deploymentTemplate === undefined
          ? 'a template is required: set deploymentTemplate or statefulSetTemplate'
          : 'only one template is allowed: remove deploymentTemplate or statefulSetTemplate',
    };
  const type = deploymentTemplate === undefined ? 'StatefulSet' : 'Deployment';
  const { metadata = {}, spec = {} } = deploymentTemplate ?? statefulSetTemplate ?? {};
  const { labels = {}, annotations } = metadata;
  const { name = '', namespace = 'default' } = app.metadata;
  const selector = spec.selector ?? selectorOf(app);
  return {
    type,
    path: `${path}.${deploymentTemplate === undefined ? 'statefulSetTemplate' : 'deploymentTemplate'}`,
    object: {
      apiVersion: 'apps/v1',
      kind: type,
      metadata: { name, namespace, labels, ...(annotations && { annotations }) },
      spec: { ...spec, ...(selector !== undefined && { selector }) },
    },
  };
}

const templateOf = (app: YurtApp): [template: WorkloadTemplate, path: string] =>
  isYurtAppSet(app) && isBeta(app)
    ? [app.spec?.workload?.workloadTemplate ?? {}, 'spec.workload.workloadTemplate']
    : [app.spec?.workloadTemplate ?? {}, 'spec.workloadTemplate'];

const selectorOf = (app: YurtApp) => (isYurtAppSet(app) && isBeta(app) ? undefined : app.spec?.selector);

/** What a YurtAppSet means that has fields of both versions is not defined. */
function mixedVersions(app: YurtApp): FieldError | undefined {
  if (!isYurtAppSet(app)) return undefined;
  const spec = app.spec ?? {};
  const old = (['workloadTemplate', 'topology'] as const).find((field) => spec[field] !== undefined);
  const beta = (['workload', 'pools', 'nodepoolSelector'] as const).find(
    (field) => spec[field] !== undefined,
  );
  if (old === undefined || beta === undefined) return undefined;
  return {
    path: `spec.${old}`,
    message: `the field belongs to v1alpha1, but spec.${beta} belongs to v1beta1: remove one of them, or convert the file with tidegate convert`,
  };
}
