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
    byIdentity.set(identity, [...(byIdentity.get(identity) ?? []), rendered]);
  }
  const colliding = new Set<Rendered>();
  const collisions: RenderError[] = [];
  for (const same of byIdentity.values()) {
    if (same.length < 2) continue;
    for (const one of same) {
      const { ordinal, edition, object } = one;
      const others = same.filter((other) => other !== one).map((other) => manifestPath(other.ordinal));
      colliding.add(one);
      collisions.push({
        ordinal,
        ...(edition !== undefined && { edition }),
        path: `${manifestPath(ordinal)}.metadata.name`,
        message: `${object.kind} ${object.metadata.name} is also rendered from ${others.join(', ')}: choose another name`,
      });
    }
  }
  return { colliding, collisions };
}
