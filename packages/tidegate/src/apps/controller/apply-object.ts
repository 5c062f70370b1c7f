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
import { availabilityOf } from './availability.ts';
import type { Children } from './children.ts';
import { isOwnedBy, refusal, withOwner } from './ownership.ts';
import type { Remembered } from './remembered.ts';
import type { Outcome } from './status.ts';

export interface ApplyTools {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly children: Children;
  readonly remembered: Remembered;
}

export const identifierOf = (
  { ordinal, object }: Rendered,
  { group, version, kind, resource }: DiscoveredResource,
): ResourceIdentifier => {
  const { namespace, name = '' } = object.metadata;
  return { ordinal, group, version, kind, resource, ...(namespace !== undefined && { namespace }), name };
};

/** Brings one object to what was rendered, unless it is so already or is somebody else's. */
export async function applyObject(
  { client, applier, children, remembered }: ApplyTools,
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
      // It comes again once the old one is gone.
      if (isBeingDeleted(live)) return { identifier, ...availabilityOf(live) };
      const dropped = remembered.recall(key, identity, wanted, live);
      if (dropped !== undefined) return outcomeOf(identifier, live, dropped);
    }
    const applied = await applyKnownFields(applier, resource, wanted, { signal });
    remembered.remember(key, identity, wanted, applied);
    return outcomeOf(identifier, applied.object, applied.dropped);
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    // The namespace is missing, or the kind was taken out of the cluster: then discovery must be asked anew.
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
  ...(dropped.length > 0 && { warning: `its kind has no field ${dropped.join(', ')}, which was left out` }),
});
