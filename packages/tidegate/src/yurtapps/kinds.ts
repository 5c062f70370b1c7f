/** The two kinds of applications of OpenYurt, as far as the controller has to know. */
import { DEPLOYMENTS, type Resource, STATEFUL_SETS } from '@tidegate/kube';
import { type TemplateType, YURT_APP_DAEMONS, YURT_APP_SETS } from '../api/index.ts';
import type { Workload } from './status.ts';
import type { YurtApp } from './template.ts';

export type YurtAppKind = 'YurtAppSet' | 'YurtAppDaemon';

export const YURT_APP_RESOURCES: Readonly<Record<YurtAppKind, Resource<YurtApp>>> = {
  YurtAppSet: YURT_APP_SETS as Resource<YurtApp>,
  YurtAppDaemon: YURT_APP_DAEMONS as Resource<YurtApp>,
};

export const WORKLOAD_RESOURCES: Readonly<Record<TemplateType, Resource<Workload>>> = {
  Deployment: DEPLOYMENTS as Resource<Workload>,
  StatefulSet: STATEFUL_SETS as Resource<Workload>,
};
