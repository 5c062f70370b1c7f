/**
 * The application kinds of OpenYurt: YurtAppSet, YurtAppDaemon and YurtAppOverrider. Each application becomes an EdgeApplication,
 * which the controller in `apps/` deploys, so both kinds of applications have the same guarantees.
 *
 * A reconcile after a YurtAppSet was changed:
 *
 * 1. `overriders.ts` finds the YurtAppOverrider of the application, if there is one.
 * 2. `template.ts` reads the template, in the fields of either version; `sites.ts` lists the pools and the changes for each.
 * 3. `translate.ts` applies the changes (`changes.ts`) for each pool, and writes the difference to the template
 *    (`json-difference.ts`) into the spec of an EdgeApplication. A change that cannot be applied is reported with its field, and
 *    what runs is kept.
 * 4. `controller.ts` creates the EdgeApplication (`application.ts`), or patches what differs. Workloads that OpenYurt has created
 *    keep their names (`workloads.ts`).
 * 5. `revision.ts` describes the ControllerRevision of the templates.
 * 6. `status.ts` computes the status from the EdgeApplication and the workloads.
 *
 * `convert.ts` converts manifests between the versions of YurtAppSet.
 */
import type { Controller, ControllerContext } from '@tidegate/kube';
import { yurtAppController } from './controller.ts';

export { applicationNameOf, applicationOf } from './application.ts';
export { convertYurtAppSet } from './convert.ts';
export { overriderFor, subjectOf } from './overriders.ts';
export { baseWorkload, type YurtApp } from './template.ts';
export { translate } from './translate.ts';

export const yurtAppControllers = (context: ControllerContext): Controller[] => [
  yurtAppController(context, 'YurtAppSet'),
  yurtAppController(context, 'YurtAppDaemon'),
];
