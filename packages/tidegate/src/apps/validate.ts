import type { EdgeApplication } from '../api/index.ts';
import { render } from './render/render.ts';
import { builtInScopes } from './render/scopes.ts';
import { everyPoolIsNodeGroup, targetsOf } from './render/targets.ts';

/** All that can be known to be wrong with an application without a cluster: that it can not be rendered. */
export function validateEdgeApplication(application: EdgeApplication): { path: string; message: string }[] {
  const { targets, errors } = targetsOf(application, everyPoolIsNodeGroup);
  return distinctErrors([...errors, ...render(application, targets, builtInScopes).errors]);
}

/** One mistake may keep several objects from being made; to say it once is enough. */
export function distinctErrors(
  errors: readonly { path: string; message: string }[],
): { path: string; message: string }[] {
  const byText = new Map(errors.map(({ path, message }) => [`${path}: ${message}`, { path, message }]));
  return [...byText.values()];
}
