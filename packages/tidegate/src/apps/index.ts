/**
 * Applications: one template, an edition for each pool. This folder owns what is made of an EdgeApplication (`render/`,
 * pure), what is different in a pool (`overriders/`, pure, a file each), and making it so (`controller/`).
 *
 * An EdgeApplication is changed:
 *   its key reaches the controller -> targetsOf says which nodes, render makes the objects: decode, override, edition
 *   -> objects that are new are recorded in the status, so that whatever happens they can be removed again
 *   -> each object is applied, unless it is as we left it; what was made before and is not rendered now is deleted
 *   -> the status tells of every object how far it is, and what is wrong in which field
 *   -> the objects are watched: a rollout that goes on, a hand that meddles, a deletion bring the same key again.
 */
export { applicationController } from './controller/application-controller.ts';
export { availabilityOf } from './controller/availability.ts';
export { type PreviewedChange, preview } from './controller/preview.ts';
export { decodeManifests, type Manifest, manifestPath } from './render/decode.ts';
export { render } from './render/render.ts';
export type { RenderError, Rendered } from './render/result.ts';
export { builtInScopes } from './render/scopes.ts';
export { everyPoolIsNodeGroup, type KindOfPool, targetsOf } from './render/targets.ts';
export { distinctErrors, validateEdgeApplication } from './validate.ts';
