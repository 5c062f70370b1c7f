/**
 * EdgeApplications: one template of manifests, and an edition of its workloads for each pool. The folders:
 *
 * - `render/` (pure) turns an EdgeApplication into the objects to apply.
 * - `overriders/` (pure) changes a workload for one pool; one file for each kind of rule.
 * - `rollout/` decides which site gets which revision, and renders the objects of each.
 * - `controller/` applies the objects, deletes those that are no longer rendered, and writes the status.
 *
 * A reconcile after an EdgeApplication was changed:
 *
 * 1. `targetsOf` lists the targets: the pools and node selectors that get an edition.
 * 2. `render` decodes the manifests, applies the overriders, and builds the editions.
 * 3. New objects are recorded in the status before they are created. If the manager stops in between, the next one
 *    finds them there and can delete them.
 * 4. Each object is applied, unless it is unchanged since the last apply. Recorded objects that are no longer rendered
 *    are deleted.
 * 5. The status gets the progress of each object, and each error with its field.
 *
 * `revisions.ts` keeps old contents of applications as ControllerRevisions.
 *
 * The controller watches the objects. Progress of a rollout, drift and deletions add the key of the application to the
 * queue again.
 */
export { applicationController } from './controller/application-controller.ts';
export { availabilityOf } from './controller/availability.ts';
export type { Recorded } from './controller/ownership.ts';
export { permissionHint } from './controller/permission-hint.ts';
export { type PreviewedChange, preview } from './controller/preview.ts';
export { recordedObjects } from './controller/recorded-objects.ts';
export { listAt, mapAt, type Path, read, without, write } from './json.ts';
export { applyJsonPatch, PatchError } from './overriders/json-patch.ts';
export { dependsOnAuthor } from './render/author-kinds.ts';
export { decodeManifests, type Manifest, manifestPath } from './render/decode.ts';
export { render } from './render/render.ts';
export type { RenderError, Rendered } from './render/result.ts';
export { builtInScopes } from './render/scopes.ts';
export {
  everyPoolIsNodeGroup,
  type KindOfPool,
  kindByAge,
  type PoolAges,
  targetsOf,
} from './render/targets.ts';
export { type RevisionOwner, recordRevision, revisionsOf } from './revisions.ts';
export { followTargetLabels, TargetLabels, targetLabelsOf } from './target-labels.ts';
export { distinctErrors, manifestErrors, validateEdgeApplication } from './validate.ts';
