import { ApiStatusError, type EventRecorder, type KubeObject, keyOf, type Resource } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import { renderSteps } from '../render/render.ts';
import type { RenderError, Rendered } from '../render/result.ts';
import { inSlices } from '../render/slices.ts';
import { type KindOfPool, type NodesWith, targetsOf } from '../render/targets.ts';
import { advanceRollout } from '../rollout/plan.ts';
import { renderStaged, type Stage, sitesWithoutContent } from '../rollout/staged.ts';
import { type ApplyTools, applyObject, identifierOf } from './apply-object.ts';
import { inApplyOrder } from './apply-order.ts';
import { revertedText } from './drift-status.ts';
import type { Kinds } from './kinds.ts';
import { nameOf } from './messages.ts';
import { isTakenOver, type Recorded } from './ownership.ts';
import { reasonToKeep, recordedObjects } from './recorded-objects.ts';
import { notDeleted, removeObject } from './remove-object.ts';
import { renderOutcomes } from './render-outcomes.ts';
import {
  DELETE_FAILED,
  type Findings,
  identityOfIdentifier,
  type NewObject,
  type Outcome,
} from './status.ts';
import { sizeProblem } from './status-size.ts';
import type { StatusWriter } from './status-writer.ts';

/** What the reconcile and the cleanup of an application share. */
export interface Tools extends ApplyTools {
  readonly recorder: EventRecorder;
  readonly statusWriter: StatusWriter;
}

/** The pools and nodes of the cluster. */
export interface Sites {
  readonly kindOfPool: KindOfPool;
  readonly nodesWith: NodesWith;
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
  { kindOfPool, nodesWith }: Sites,
  { stage, now }: { stage: Stage | undefined; now: number },
  signal: AbortSignal,
): Promise<Findings> {
  const { targets, missing, errors: targetErrors } = targetsOf(application, kindOfPool, nodesWith);
  const result =
    stage === undefined
      ? await inSlices(renderSteps(application, targets, kinds.scopeOf))
      : await renderStaged(
          application,
          stage,
          (of) => targetsOf(of, kindOfPool, nodesWith).targets,
          kinds.scopeOf,
        );
  const tooLarge = sizeProblem(application, result.objects);
  // Objects whose status cannot be written must not be created: nothing would know that they exist.
  const objects = tooLarge === undefined ? result.objects : [];
  const errors: RenderError[] = [
    ...targetErrors,
    ...result.errors,
    ...(tooLarge === undefined ? [] : [{ path: 'spec', message: tooLarge }]),
  ];
  const recorded = recordedObjects(application);
  const outcomes = new Outcomes();
  await recordNew(tools, application, objects, recorded, kinds, signal);
  for (const rendered of inApplyOrder(objects)) {
    const resource = kinds.resourceOf(rendered.object)!;
    const known = recorded.get(identityOfIdentifier(identifierOf(rendered, resource)));
    const outcome = await applyObject(tools, application, rendered, { resource, recorded: known }, signal);
    if (outcome.reverted) tools.recorder.normal(application, 'DriftReverted', revertedText(outcome));
    outcomes.add(outcome);
  }
  const missingPools = new Set(missing.map(({ pool }) => pool));
  const waitingSites = stage === undefined ? new Set<string>() : sitesWithoutContent(targets, stage);
  for (const [identity, entry] of recorded) {
    if (outcomes.has(identity)) continue;
    outcomes.add(
      await prune(
        tools,
        application,
        entry,
        { hasErrors: errors.length > 0, missingPools, waitingSites },
        signal,
      ),
    );
  }
  const waiting = new Set(errors.map(({ edition }) => edition));
  for (const rendered of objects) {
    const identifier = identifierOf(rendered, kinds.resourceOf(rendered.object)!);
    if (!outcomes.isAvailable(identityOfIdentifier(identifier))) waiting.add(rendered.edition);
  }
  for (const outcome of renderOutcomes(application, errors, kinds)) outcomes.add(outcome);
  const { rollout = {} } = application.spec;
  return {
    outcomes: outcomes.all,
    errors,
    missing,
    ...(stage && {
      rollout: advanceRollout(
        rollout,
        stage.plan,
        (site) => tooLarge === undefined && !waiting.has(site),
        now,
      ),
    }),
  };
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

  isAvailable(identity: string): boolean {
    return this.#byIdentity.get(identity)?.available === true;
  }

  add(outcome: Outcome | undefined): void {
    if (outcome !== undefined) this.#byIdentity.set(identityOfIdentifier(outcome.identifier), outcome);
  }
}

/**
 * Writes the identifiers of new objects to the status before they are created. If the manager stops after creating an
 * object, the next leader still finds it in the status and can delete it. The same holds for an object that another client
 * deleted and that is created again: the UID in the status is that of the old one.
 */
async function recordNew(
  { statusWriter, children }: Tools,
  application: EdgeApplication,
  objects: readonly Rendered[],
  recorded: Map<string, Recorded>,
  kinds: Kinds,
  signal: AbortSignal,
): Promise<void> {
  const fresh: NewObject[] = [];
  for (const rendered of objects) {
    const resource = kinds.resourceOf(rendered.object)!;
    const identifier = identifierOf(rendered, resource);
    const known = recorded.get(identityOfIdentifier(identifier));
    if (known !== undefined && known.identifier.uid === undefined) continue;
    const live = await liveObject(children, resource, rendered, signal);
    const exists = live !== undefined;
    if (known !== undefined && exists) continue;
    if (exists && live !== UNKNOWN && isTakenOver(live, application)) identifier.uid = live.metadata.uid;
    fresh.push({ identifier, exists });
    if (known !== undefined)
      recorded.set(identityOfIdentifier(identifier), { identifier, isPending: true, hasFailed: false });
  }
  if (fresh.length > 0) await statusWriter.record(application, fresh, signal);
}

const UNKNOWN = 'unknown';

/** If the object cannot be read, it may exist. Applying it reports the error. */
async function liveObject(
  children: Tools['children'],
  resource: Resource,
  { object }: Rendered,
  signal: AbortSignal,
): Promise<KubeObject | typeof UNKNOWN | undefined> {
  try {
    return await children.get(resource, object.metadata, signal);
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    return UNKNOWN;
  }
}

/** What decides whether an object that is not rendered is kept. */
interface Kept {
  readonly hasErrors: boolean;
  readonly missingPools: ReadonlySet<string>;
  /** Sites that a rollout has not reached, and whose old content is not known. */
  readonly waitingSites: ReadonlySet<string>;
}

/** Deletes a recorded object that is no longer rendered, or keeps it. Returns undefined if it does not exist. */
async function prune(
  tools: Tools,
  application: EdgeApplication,
  recorded: Recorded,
  { hasErrors, missingPools, waitingSites }: Kept,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { recorder, appliedCache } = tools;
  const { identifier } = recorded;
  const removal = await removeObject(tools, application, recorded, signal, (live) =>
    reasonToKeep(live, hasErrors, missingPools, waitingSites),
  );
  switch (removal.state) {
    case 'absent':
      return undefined;
    case 'foreign':
      recorder.normal(application, 'NotDeleted', notDeleted(identifier));
      return undefined;
    case 'kept':
      return { identifier, ...removal.why };
    case 'failed':
      return { identifier, available: false, reason: DELETE_FAILED, message: removal.message };
    case 'deleting':
      if (removal.requested)
        recorder.normal(application, 'Pruned', `Deleted ${nameOf(identifier)}: it is no longer rendered`);
      appliedCache.forget(keyOf(application), identityOfIdentifier(identifier));
      return {
        identifier,
        available: false,
        reason: 'Terminating',
        message: 'the object is no longer rendered and is being deleted',
      };
  }
}
