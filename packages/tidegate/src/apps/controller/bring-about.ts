import { type EventRecorder, keyOf } from '@tidegate/kube';
import type { EdgeApplication, ResourceIdentifier } from '../../api/index.ts';
import { render } from '../render/render.ts';
import type { Rendered } from '../render/result.ts';
import { type KindOfPool, targetsOf } from '../render/targets.ts';
import { type ApplyTools, applyObject, identifierOf } from './apply-object.ts';
import type { Kinds } from './kinds.ts';
import { deleteOwned, findOwned, reasonToKeep, recordedObjects } from './leftovers.ts';
import { inOrderOfNeed } from './order.ts';
import { renderOutcomes } from './render-outcomes.ts';
import { type Findings, identityOfIdentifier, nameOf, type Outcome } from './status.ts';
import type { StatusWriter } from './status-writer.ts';

export interface Tools extends ApplyTools {
  readonly recorder: EventRecorder;
  readonly statusWriter: StatusWriter;
}

/**
 * Makes everything as the application says: what is rendered is applied, what was made and is no longer rendered is
 * deleted. A mistake in the application keeps its running objects as they are, all of them: of what can not be
 * rendered nobody knows which objects it would be.
 */
export async function bringAbout(
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
  for (const rendered of inOrderOfNeed(result.objects)) {
    const resource = kinds.resourceOf(rendered.object)!;
    const known = recorded.has(identityOfIdentifier(identifierOf(rendered, resource)));
    outcomes.add(await applyObject(tools, application, rendered, { resource, recorded: known }, signal));
  }
  const missingPools = new Set(missing.map(({ pool }) => pool));
  for (const [identity, identifier] of recorded) {
    if (outcomes.has(identity)) continue;
    outcomes.add(
      await leave(tools, application, identifier, { hasErrors: errors.length > 0, missingPools }, signal),
    );
  }
  for (const outcome of renderOutcomes(application, errors, kinds)) outcomes.add(outcome);
  return { outcomes: outcomes.all, errors, missing };
}

/** One for each object; of several the last counts. */
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

/** What happens to an object that was made and is not rendered any more; undefined when it is gone. */
async function leave(
  { client, children, recorder, remembered }: Tools,
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
    recorder.normal(application, 'Pruned', nameOf(identifier));
  remembered.forget(keyOf(application), identityOfIdentifier(identifier));
  return {
    identifier,
    available: false,
    reason: 'Terminating',
    message: 'it is no longer in the application',
  };
}
