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
import type { ApplicationPods } from './application-pods.ts';
import type { AppliedCache, Remembered } from './applied-cache.ts';
import { availabilityOf } from './availability.ts';
import type { Children } from './children.ts';
import {
  hasOtherController,
  isBornFromApply,
  isCreatedBy,
  isOwnedBy,
  isTakenOver,
  type Recorded,
  refusal,
  withOwner,
} from './ownership.ts';
import { permissionHint } from './permission-hint.ts';
import { mustBeRecreated } from './recreate.ts';
import { settleDrift } from './settle-drift.ts';
import { APPLY_FAILED, type Outcome } from './status.ts';
import { withLiveSelector } from './take-over.ts';

/** What applying an object needs. */
export interface ApplyTools {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly children: Children;
  readonly appliedCache: AppliedCache;
  readonly pods: ApplicationPods;
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
  { client, applier, children, appliedCache, pods }: ApplyTools,
  application: EdgeApplication,
  rendered: Rendered,
  { resource, recorded }: { resource: DiscoveredResource; recorded: Recorded | undefined },
  signal: AbortSignal,
): Promise<Outcome> {
  const identifier = identifierOf(rendered, resource);
  const [key, identity] = [keyOf(application), identityOf(rendered.object)];
  const { driftPolicy = 'Ignore' } = application.spec;
  try {
    const live = await children.get(resource, rendered.object.metadata, signal);
    const isOurs = live === undefined || isCreatedBy(live, recorded) || isTakenOver(live, application);
    if (live !== undefined && isOurs) identifier.uid = live.metadata.uid;
    const object = live === undefined ? rendered.object : withLiveSelector(rendered.object, live);
    const isControlled = live !== undefined && hasOtherController(live, application);
    const wanted = isOurs && !isControlled ? withOwner(object, application) : object;
    if (live !== undefined) {
      if (!isOwnedBy(live, application, recorded !== undefined))
        return { identifier, available: false, reason: 'Refused', message: refusal(live, application) };
      // The watch reports when the old object is gone. The next reconcile creates the new one.
      if (isBeingDeleted(live)) return { identifier, ...availabilityOf(live) };
      const known = appliedCache.recall(key, identity, wanted, live, driftPolicy);
      if (known !== undefined) return outcomeOf(identifier, live, known, pods);
    }
    const applied = await applyKnownFields(applier, resource, wanted, { signal }).catch(
      async (error: unknown) => {
        if (live === undefined || !isOurs || !mustBeRecreated(rendered.object, error)) throw error;
        await client.delete(resource, live.metadata as { name: string }, {
          propagationPolicy: 'Background',
          ...(live.metadata.uid !== undefined && { preconditions: { uid: live.metadata.uid } }),
          signal,
        });
        return undefined;
      },
    );
    // The watch reports when the old object is gone. The next reconcile creates the new one.
    if (applied === undefined) return { identifier, ...RECREATED };
    const { dropped } = applied;
    const {
      object: settled,
      reverted,
      ...drifting
    } = await settleDrift(client, resource, applied.object, driftPolicy, signal);
    const result = { dropped, ...drifting };
    appliedCache.remember(key, identity, wanted, settled, driftPolicy, result);
    // Another client may have created the object between our read and our apply.
    if (live === undefined && isBornFromApply(applied.object.metadata))
      identifier.uid = applied.object.metadata.uid;
    return { ...outcomeOf(identifier, settled, result, pods), ...(reverted.length > 0 && { reverted }) };
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    // Either the namespace does not exist, or the kind was removed from the cluster and discovery is out of date.
    if (isNotFound(error)) client.discovery.invalidate();
    const message = error.message + permissionHint(error, identifier);
    return { identifier, available: false, reason: APPLY_FAILED, message };
  }
}

const RECREATED: Omit<Outcome, 'identifier'> = {
  available: false,
  reason: 'Recreating',
  message: 'the change is not possible in place, so the object is deleted and created again',
};

function outcomeOf(
  identifier: ResourceIdentifier,
  object: KubeObject,
  { dropped, drift, problem: notReverted }: Remembered,
  pods: ApplicationPods,
): Outcome {
  const availability = availabilityOf(object);
  const problem = availability.available ? undefined : pods.problemOf(object);
  return {
    identifier,
    ...availability,
    ...(problem && { reason: problem.reason, message: `${availability.message}; ${problem.message}` }),
    ...(drift.length > 0 && { drifting: { drift, ...(notReverted && { problem: notReverted }) } }),
    ...(dropped.length > 0 && { warning: `unknown fields were ignored: ${dropped.join(', ')}` }),
  };
}
