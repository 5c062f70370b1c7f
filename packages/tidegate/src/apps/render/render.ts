import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
} from '../../api/index.ts';
import { BudgetError, RenderBudget } from './budget.ts';
import { collisionsIn } from './collisions.ts';
import { decodeManifests, type Manifest } from './decode.ts';
import { splitByEdition, withoutChoice } from './per-edition.ts';
import type { RenderError, Rendered, RenderResult } from './result.ts';
import type { ScopeOf } from './scopes.ts';
import { isService, scoped } from './service-scope.ts';
import { atOnce } from './slices.ts';
import { chargeRules, renderTarget } from './target-editions.ts';
import type { Target } from './targets.ts';

/** The maximum length of a label value in Kubernetes. */
const MAX_LABEL_LENGTH = 63;

/**
 * Renders all objects of an application: those with editions for each target, and all others once.
 *
 * The result is deterministic: the same application always gives the same bytes. An object depends only on its manifest
 * and its target, not on the order of manifests or on the overriders of other targets. So a change for one pool never
 * restarts pods in another.
 */
export const render = (
  application: EdgeApplication,
  targets: readonly Target[],
  scopeOf: ScopeOf,
): RenderResult => atOnce(renderSteps(application, targets, scopeOf));

/** The same in steps, for programs that have other work to do, see `inSlices`. */
export function* renderSteps(
  application: EdgeApplication,
  targets: readonly Target[],
  scopeOf: ScopeOf,
): Generator<undefined, RenderResult, undefined> {
  const nameError = errorOfName(application);
  if (nameError !== undefined) return { objects: [], errors: [nameError] };
  try {
    return yield* renderWithin(new RenderBudget(), application, targets, scopeOf);
  } catch (error) {
    if (!(error instanceof BudgetError)) throw error;
    return { objects: [], errors: [{ path: 'spec', message: error.message }] };
  }
}

function* renderWithin(
  budget: RenderBudget,
  application: EdgeApplication,
  targets: readonly Target[],
  scopeOf: ScopeOf,
): Generator<undefined, RenderResult, undefined> {
  const { manifests, errors } = decodeManifests(application, scopeOf);
  const { each, once } = splitByEdition(manifests);
  const complete = errors.length === 0;
  const editions: RenderResult[] = [];
  chargeRules(each, targets, budget);
  for (const target of targets)
    editions.push(yield* renderTarget(application, each, target, { complete, budget }));
  const objects = [
    ...once.map((manifest) => shared(manifest, targets)),
    ...editions.flatMap((edition) => edition.objects),
  ].map(owned(application));
  const { colliding, collisions } = collisionsIn(objects);
  return {
    objects: objects.filter((rendered) => !colliding.has(rendered)),
    errors: [...errors, ...editions.flatMap((edition) => edition.errors), ...collisions],
  };
}

function errorOfName({ metadata }: EdgeApplication): RenderError | undefined {
  const { name = '' } = metadata;
  if (name !== '' && name.length <= MAX_LABEL_LENGTH) return undefined;
  return {
    path: 'metadata.name',
    message: `the name is used as a label value and must have 1 to ${MAX_LABEL_LENGTH} characters`,
  };
}

const shared = ({ ordinal, object }: Manifest, targets: readonly Target[]): Rendered => ({
  ordinal,
  object: isService(object) ? scoped(withoutChoice(object), targets) : withoutChoice(object),
});

/**
 * Adds the labels that name the application. Owner references work only within a namespace, so objects in other
 * namespaces and cluster-scoped objects are found by these labels.
 */
const owned =
  ({ metadata: { name = '', namespace = 'default' } }: EdgeApplication) =>
  (rendered: Rendered): Rendered => {
    const { metadata } = rendered.object;
    const labels = {
      ...metadata.labels,
      [EDGE_APPLICATION_LABEL]: name,
      [EDGE_APPLICATION_NAMESPACE_LABEL]: namespace,
    };
    return { ...rendered, object: { ...rendered.object, metadata: { ...metadata, labels } } };
  };
