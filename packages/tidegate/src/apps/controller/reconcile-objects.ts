import { type EventRecorder, keyOf } from '@tidegate/kube';
import type { EdgeApplication, ResourceIdentifier } from '../../api/index.ts';
import { render } from '../render/render.ts';
import type { Rendered } from '../render/result.ts';
import { type KindOfPool, targetsOf } from '../render/targets.ts';
import { type ApplyTools, applyObject, identifierOf } from './apply-object.ts';
import { inApplyOrder } from './apply-order.ts';
import type { Kinds } from './kinds.ts';
import { deleteOwned, findOwned, reasonToKeep, recordedObjects } from './recorded-objects.ts';
import { renderOutcomes } from './render-outcomes.ts';
import { type Findings, identityOfIdentifier, nameOf, type Outcome } from './status.ts';
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
  const result = render(application, targets, kinds.scopeOf);
  const errors = [...targetErrors, ...result.errors];
  const recorded = recordedObjects(application);
  const outcomes = new Outcomes();
  await recordNew(tools, application, result.objects, recorded, kinds, signal);
  for (const rendered of inApplyOrder(result.objects)) {
    const resource = kinds.resourceOf(rendered.object)!;
    const known = recorded.has(identityOfIdentifier(identifierOf(rendered, resource)));
    outcomes.add(await applyObject(tools, application, rendered, { resource, recorded: known }, signal));
  }
  const missingPools = new Set(missing.map(({ pool }) => pool));
  for (const [identity, identifier] of recorded) {
    if (outcomes.has(identity)) continue;
    outcomes.add(
      await prune(tools, application, identifier, { hasErrors: errors.length > 0, missingPools }, signal),
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
  { statusWriter }: Tools,
  application: EdgeApplication,
  objects: readonly Rendered[],
  recorded: ReadonlyMap<string, ResourceIdentifier>,
  kinds: Kinds,
  signal: AbortSignal,
): Promise<void> {
  const fresh = objects
    .map((rendered) => identifierOf(rendered, kinds.resourceOf(rendered.object)!))
    .filter((identifier) => !recorded.has(identityOfIdentifier(identifier)));
  if (fresh.length > 0) await statusWriter.record(application, fresh, signal);
}

/** Deletes a recorded object that is no longer rendered, or keeps it. Returns undefined if it does not exist. */
async function prune(
  { client, children, recorder, appliedCache }: Tools,
  application: EdgeApplication,
  identifier: ResourceIdentifier,
  { hasErrors, missingPools }: { hasErrors: boolean; missingPools: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const live = await findOwned(children, application, identifier, signal);
  if (live === undefined) return undefined;
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
