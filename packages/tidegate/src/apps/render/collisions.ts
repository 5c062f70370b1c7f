import type { KubeObject } from '@tidegate/kube';
import { manifestPath } from './decode.ts';
import type { RenderError, Rendered } from './result.ts';
import { kindOf } from './scopes.ts';

/** Identifies an object by group, kind, namespace and name. Manifests of different API versions can be the same object. */
export function identityOf(object: KubeObject): string {
  const { group, kind } = kindOf(object);
  const { namespace = '', name = '' } = object.metadata;
  return `${group}/${kind} ${namespace}/${name}`;
}

/**
 * Finds objects that would overwrite each other. All of them are reported and none is applied, so that the result does
 * not depend on the order of manifests.
 */
export function collisionsIn(objects: readonly Rendered[]): {
  colliding: ReadonlySet<Rendered>;
  collisions: RenderError[];
} {
  const byIdentity = new Map<string, Rendered[]>();
  for (const rendered of objects) {
    const identity = identityOf(rendered.object);
    const same = byIdentity.get(identity);
    if (same === undefined) byIdentity.set(identity, [rendered]);
    else same.push(rendered);
  }
  const colliding = new Set<Rendered>();
  const collisions: RenderError[] = [];
  for (const same of byIdentity.values()) {
    if (same.length < 2) continue;
    for (const one of same) {
      const { ordinal, edition, object } = one;
      colliding.add(one);
      collisions.push({
        ordinal,
        ...(edition !== undefined && { edition }),
        path: `${manifestPath(ordinal)}.metadata.name`,
        message: `${object.kind} ${object.metadata.name} is also rendered from ${othersOf(one, same)}: choose another name`,
      });
    }
  }
  return { colliding, collisions };
}

/** The messages of many equal objects would otherwise grow with the square of their number. */
const MOST_NAMED = 3;

function othersOf(one: Rendered, same: readonly Rendered[]): string {
  const named = same.slice(0, MOST_NAMED + 1).filter((other) => other !== one);
  const shown = named.slice(0, MOST_NAMED).map(({ ordinal }) => manifestPath(ordinal));
  const rest = same.length - 1 - shown.length;
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}
