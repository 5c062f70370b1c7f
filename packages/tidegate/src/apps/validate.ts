import type { EdgeApplication } from '../api/index.ts';
import { decodeManifests } from './render/decode.ts';
import { renderSteps } from './render/render.ts';
import { builtInScopes } from './render/scopes.ts';
import { inSlices } from './render/slices.ts';
import { everyPoolIsNodeGroup, targetsOf } from './render/targets.ts';

/**
 * Returns the errors that can be found without a cluster. Pool names are taken to be NodeGroups, and kinds that are not
 * built in are taken to be namespaced. Errors that depend on the cluster, for example an unknown kind, are not found. Awaits
 * `pause` now and then, so that other work can run.
 */
export async function validateEdgeApplication(
  application: EdgeApplication,
  pause?: () => Promise<unknown>,
): Promise<{ path: string; message: string }[]> {
  const { targets, errors } = targetsOf(application, everyPoolIsNodeGroup);
  const rendered = await inSlices(renderSteps(application, targets, builtInScopes), pause);
  return distinctErrors([...errors, ...rendered.errors]);
}

/** The errors in targets and manifests alone. Finding them is cheap, because no rule is applied. */
export function manifestErrors(application: EdgeApplication): { path: string; message: string }[] {
  const { errors } = targetsOf(application, everyPoolIsNodeGroup);
  return distinctErrors([...errors, ...decodeManifests(application, builtInScopes).errors]);
}

/** Removes duplicates: one mistake in a rule causes the same error for every object that it affects. */
export function distinctErrors(
  errors: readonly { path: string; message: string }[],
): { path: string; message: string }[] {
  const byText = new Map(errors.map(({ path, message }) => [`${path}: ${message}`, { path, message }]));
  return [...byText.values()];
}
