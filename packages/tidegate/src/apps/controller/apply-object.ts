import {
  ApiStatusError,
  type Applier,
  type DiscoveredResource,
  isBeingDeleted,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
} from '@tidegate/kube';
import type { EdgeApplication, ResourceIdentifier } from '../../api/index.ts';
import { applyKnownFields } from '../apply-known-fields.ts';
import { identityOf } from '../render/collisions.ts';
import type { Rendered } from '../render/result.ts';
import type { AppliedCache } from './applied-cache.ts';
import { availabilityOf } from './availability.ts';
import type { Children } from './children.ts';
import { isOwnedBy, refusal, withOwner } from './ownership.ts';
import type { Outcome } from './status.ts';

/** What applying an object needs. */
export interface ApplyTools {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly children: Children;
  readonly appliedCache: AppliedCache;
}

/** How the status identifies a rendered object. */
export const identifierOf = (
  { ordinal, object }: Rendered,
  { group, version, kind, resource }: DiscoveredResource,
): ResourceIdentifier => {
  const { namespace, name = '' } = object.metadata;
  return { ordinal, group, version, kind, resource, ...(namespace !== undefined && { namespace }), name };
};

/**
 * Applies one rendered object and returns its state. Does nothing if the object is unchanged since the last apply, if it
 * is being deleted, or if it does not belong to the application. `recorded`: whether the status lists the object.
 */
export async function applyObject(
  { client, applier, children, appliedCache }: ApplyTools,
  application: EdgeApplication,
  rendered: Rendered,
  { resource, recorded }: { resource: DiscoveredResource; recorded: boolean },
  signal: AbortSignal,
): Promise<Outcome> {
  const identifier = identifierOf(rendered, resource);
  const wanted = withOwner(rendered.object, application);
  const [key, identity] = [keyOf(application), identityOf(wanted)];
  try {
    const live = await children.get(resource, wanted.metadata, signal);
    if (live !== undefined) {
      if (!isOwnedBy(live, application, recorded))
        return { identifier, available: false, reason: 'Refused', message: refusal(live, application) };
      // The watch reports when the old object is gone. The next reconcile creates the new one.
      if (isBeingDeleted(live)) return { identifier, ...availabilityOf(live) };
      const dropped = appliedCache.recall(key, identity, wanted, live);
      if (dropped !== undefined) return outcomeOf(identifier, live, dropped);
    }
    const applied = await applyKnownFields(applier, resource, wanted, { signal });
    appliedCache.remember(key, identity, wanted, applied);
    return outcomeOf(identifier, applied.object, applied.dropped);
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    // Either the namespace does not exist, or the kind was removed from the cluster and discovery is out of date.
    if (isNotFound(error)) client.discovery.invalidate();
    return { identifier, available: false, reason: 'ApplyFailed', message: error.message };
  }
}

const outcomeOf = (
  identifier: ResourceIdentifier,
  object: KubeObject,
  dropped: readonly string[],
): Outcome => ({
  identifier,
  ...availabilityOf(object),
  ...(dropped.length > 0 && { warning: `unknown fields were ignored: ${dropped.join(', ')}` }),
});
