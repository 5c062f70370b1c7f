import { ApiStatusError, type EventRecorder, keyOf, type Resource } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import { renderSteps } from '../render/render.ts';
import type { Rendered } from '../render/result.ts';
import { inSlices } from '../render/slices.ts';
import { type KindOfPool, targetsOf } from '../render/targets.ts';
import { type ApplyTools, applyObject, identifierOf } from './apply-object.ts';
import { inApplyOrder } from './apply-order.ts';
import type { Kinds } from './kinds.ts';
import { isCreatedBy, type Recorded } from './ownership.ts';
import { deleteOwned, findOwned, notDeleted, reasonToKeep, recordedObjects } from './recorded-objects.ts';
import { renderOutcomes } from './render-outcomes.ts';
import { type Findings, identityOfIdentifier, type NewObject, nameOf, type Outcome } from './status.ts';
import type { StatusWriter } from './status-writer.ts';

/** What the reconcile and the cleanup of an application share. */
export interface Tools extends ApplyTools {
  readonly recorder: EventRecorder;
  readonly statusWriter: StatusWriter;
}

/**
 * Applies the rendered objects, and deletes recorded objects that are no longer rendered.
 *
 * If anything cannot be rendered, nothing is deleted: a recorded object may be the one that the faulty manifest would
 * render, and a mistake must not stop running pods.
 */
export async function reconcileObjects(
  tools: Tools,
  application: EdgeApplication,
  kinds: Kinds,
  kindOfPool: KindOfPool,
  signal: AbortSignal,
): Promise<Findings> {
  const { targets, missing, errors: targetErrors } = targetsOf(application, kindOfPool);
  const result = await inSlices(renderSteps(application, targets, kinds.scopeOf));
  const errors = [...targetErrors, ...result.errors];
  const recorded = recordedObjects(application);
  const outcomes = new Outcomes();
  await recordNew(tools, application, result.objects, recorded, kinds, signal);
  for (const rendered of inApplyOrder(result.objects)) {
    const resource = kinds.resourceOf(rendered.object)!;
    const known = recorded.get(identityOfIdentifier(identifierOf(rendered, resource)));
    outcomes.add(await applyObject(tools, application, rendered, { resource, recorded: known }, signal));
  }
  const missingPools = new Set(missing.map(({ pool }) => pool));
  for (const [identity, entry] of recorded) {
    if (outcomes.has(identity)) continue;
    outcomes.add(
      await prune(tools, application, entry, { hasErrors: errors.length > 0, missingPools }, signal),
    );
  }
  for (const outcome of renderOutcomes(application, errors, kinds)) outcomes.add(outcome);
  return { outcomes: outcomes.all, errors, missing };
}

/** One outcome for each object. A later outcome of the same object replaces an earlier one. */
class Outcomes {
  readonly #byIdentity = new Map<string, Outcome>();

  get all(): Outcome[] {
    return [...this.#byIdentity.values()];
  }

  has(identity: string): boolean {
    return this.#byIdentity.has(identity);
  }

  add(outcome: Outcome | undefined): void {
    if (outcome !== undefined) this.#byIdentity.set(identityOfIdentifier(outcome.identifier), outcome);
  }
}

/**
 * Writes the identifiers of new objects to the status before they are created. If the manager stops after creating an
 * object, the next leader still finds it in the status and can delete it.
 */
async function recordNew(
  { statusWriter, children }: Tools,
  application: EdgeApplication,
  objects: readonly Rendered[],
  recorded: ReadonlyMap<string, Recorded>,
  kinds: Kinds,
  signal: AbortSignal,
): Promise<void> {
  const fresh: NewObject[] = [];
  for (const rendered of objects) {
    const resource = kinds.resourceOf(rendered.object)!;
    const identifier = identifierOf(rendered, resource);
    if (recorded.has(identityOfIdentifier(identifier))) continue;
    fresh.push({ identifier, exists: await mayExist(children, resource, rendered, signal) });
  }
  if (fresh.length > 0) await statusWriter.record(application, fresh, signal);
}

/** If the object cannot be read, it may exist. Applying it reports the error. */
async function mayExist(
  children: Tools['children'],
  resource: Resource,
  { object }: Rendered,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await children.get(resource, object.metadata, signal)) !== undefined;
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    return true;
  }
}

/** Deletes a recorded object that is no longer rendered, or keeps it. Returns undefined if it does not exist. */
async function prune(
  { client, children, recorder, appliedCache }: Tools,
  application: EdgeApplication,
  recorded: Recorded,
  { hasErrors, missingPools }: { hasErrors: boolean; missingPools: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { identifier } = recorded;
  const live = await findOwned(children, application, recorded, signal);
  if (live === undefined) return undefined;
  if (!isCreatedBy(live, recorded)) {
    recorder.normal(application, 'NotDeleted', notDeleted(identifier));
    return undefined;
  }
  const kept = reasonToKeep(live, hasErrors, missingPools);
  if (kept !== undefined) return { identifier, ...kept };
  if (await deleteOwned(client, identifier, live, signal))
    recorder.normal(application, 'Pruned', `Deleted ${nameOf(identifier)}: it is no longer rendered`);
  appliedCache.forget(keyOf(application), identityOfIdentifier(identifier));
  return {
    identifier,
    available: false,
    reason: 'Terminating',
    message: 'the object is no longer rendered and is being deleted',
  };
}
