import {
  ApiStatusError,
  type Applier,
  type DiscoveredResource,
  isBeingDeleted,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
} from '@tidegate/kube';
import { type EdgeApplication, type ResourceIdentifier, SYSTEM_NAMESPACE } from '../../api/index.ts';
import { applyKnownFields } from '../apply-known-fields.ts';
import { identityOf } from '../render/collisions.ts';
import type { Rendered } from '../render/result.ts';
import type { AppliedCache } from './applied-cache.ts';
import { availabilityOf } from './availability.ts';
import type { Children } from './children.ts';
import { isBornFromApply, isCreatedBy, isOwnedBy, type Recorded, refusal, withOwner } from './ownership.ts';
import { APPLY_FAILED, type Outcome } from './status.ts';

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
 * is being deleted, or if it does not belong to the application. `recorded`: the entry of the object in the status.
 */
export async function applyObject(
  { client, applier, children, appliedCache }: ApplyTools,
  application: EdgeApplication,
  rendered: Rendered,
  { resource, recorded }: { resource: DiscoveredResource; recorded: Recorded | undefined },
  signal: AbortSignal,
): Promise<Outcome> {
  const identifier = identifierOf(rendered, resource);
  const [key, identity] = [keyOf(application), identityOf(rendered.object)];
  try {
    const live = await children.get(resource, rendered.object.metadata, signal);
    const isOurs = live === undefined || isCreatedBy(live, recorded);
    if (live !== undefined && isOurs) identifier.uid = live.metadata.uid;
    const wanted = isOurs ? withOwner(rendered.object, application) : rendered.object;
    if (live !== undefined) {
      if (!isOwnedBy(live, application, recorded !== undefined))
        return { identifier, available: false, reason: 'Refused', message: refusal(live, application) };
      // The watch reports when the old object is gone. The next reconcile creates the new one.
      if (isBeingDeleted(live)) return { identifier, ...availabilityOf(live) };
      const dropped = appliedCache.recall(key, identity, wanted, live);
      if (dropped !== undefined) return outcomeOf(identifier, live, dropped);
    }
    const applied = await applyKnownFields(applier, resource, wanted, { signal });
    appliedCache.remember(key, identity, wanted, applied);
    // Another client may have created the object between our read and our apply.
    if (live === undefined && isBornFromApply(applied.object.metadata))
      identifier.uid = applied.object.metadata.uid;
    return outcomeOf(identifier, applied.object, applied.dropped);
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    // Either the namespace does not exist, or the kind was removed from the cluster and discovery is out of date.
    if (isNotFound(error)) client.discovery.invalidate();
    const hint =
      isForbidden(error) && identifier.namespace !== undefined ? `; ${grant(identifier.namespace)}` : '';
    return { identifier, available: false, reason: APPLY_FAILED, message: error.message + hint };
  }
}

/** The manager may create objects only in namespaces that have bound the ClusterRole of deploy/base. */
const grant = (namespace: string): string =>
  `to let Tidegate create objects in this namespace, run: kubectl create rolebinding tidegate-apps --namespace ${namespace} --clusterrole tidegate-apps --serviceaccount ${SYSTEM_NAMESPACE}:tidegate-apps`;

const outcomeOf = (
  identifier: ResourceIdentifier,
  object: KubeObject,
  dropped: readonly string[],
): Outcome => ({
  identifier,
  ...availabilityOf(object),
  ...(dropped.length > 0 && { warning: `unknown fields were ignored: ${dropped.join(', ')}` }),
});
