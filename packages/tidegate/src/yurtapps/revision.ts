import type { KubeObject } from '@tidegate/kube';
import { REF_YURT_APP_SET_LABEL } from '../api/index.ts';
import type { RevisionOwner } from '../apps/index.ts';
import { applicationNameOf, ownerReference } from './application.ts';
import { isBeta, isYurtAppSet, type YurtApp } from './template.ts';

const DEFAULT_LIMIT = 10;

/** What a revision contains: a strategic merge patch that restores the templates and tweaks, in the format of OpenYurt. */
export function revisionData(app: YurtApp): { spec: Record<string, unknown> } {
  const { spec } = app;
  if (!isYurtAppSet(app))
    return { spec: { workloadTemplate: { ...spec?.workloadTemplate, $patch: 'replace' } } };
  const { workload, workloadTemplate, topology } = app.spec ?? {};
  return isBeta(app)
    ? { spec: { workload: { ...workload, $patch: 'replace' } } }
    : {
        spec: {
          workloadTemplate: { ...workloadTemplate, $patch: 'replace' },
          topology: { ...topology, $patch: 'replace' },
        },
      };
}

export const revisionOwner = (app: YurtApp): RevisionOwner => ({
  object: app as KubeObject,
  reference: ownerReference(app),
  application: applicationNameOf(app),
  ...(isYurtAppSet(app) && { labels: { [REF_YURT_APP_SET_LABEL]: `${app.metadata.name}` } }),
  limit: app.spec?.revisionHistoryLimit ?? DEFAULT_LIMIT,
});
