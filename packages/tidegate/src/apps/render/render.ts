import type { KubeObject } from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
  SERVICE_TOPOLOGY_ANNOTATION,
  SERVICE_TOPOLOGY_NODE_GROUP,
} from '../../api/index.ts';
import { workloadOf } from '../workloads.ts';
import { BudgetError, RenderBudget } from './budget.ts';
import { collisionsIn } from './collisions.ts';
import { decodeManifests, type Manifest } from './decode.ts';
import type { RenderError, Rendered, RenderResult } from './result.ts';
import type { ScopeOf } from './scopes.ts';
import { atOnce } from './slices.ts';
import { chargeRules, renderTarget } from './target-editions.ts';
import type { Target } from './targets.ts';

/** The maximum length of a label value in Kubernetes. */
const MAX_LABEL_LENGTH = 63;

/**
 * Renders all objects of an application: an edition of each workload for each target, and all other objects once.
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
  const workloads = manifests.filter(({ object }) => workloadOf(object) !== undefined);
  const others = manifests.filter(({ object }) => workloadOf(object) === undefined);
  const complete = errors.length === 0;
  const editions: RenderResult[] = [];
  chargeRules(workloads, targets, budget);
  for (const target of targets)
    editions.push(yield* renderTarget(application, workloads, target, { complete, budget }));
  const objects = [...others.map(once), ...editions.flatMap((edition) => edition.objects)].map(
    owned(application),
  );
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

const once = ({ ordinal, object }: Manifest): Rendered => ({
  ordinal,
  object: object.apiVersion === 'v1' && object.kind === 'Service' ? scoped(object) : object,
});

/**
 * Adds the topology annotation of KubeEdge to a Service, unless the manifest sets it. Tidegate needs only its own label
 * to limit a Service of an application to the pool of the client; the annotation is for components of KubeEdge.
 */
const scoped = (service: KubeObject): KubeObject => ({
  ...service,
  metadata: {
    ...service.metadata,
    annotations: {
      [SERVICE_TOPOLOGY_ANNOTATION]: SERVICE_TOPOLOGY_NODE_GROUP,
      ...service.metadata.annotations,
    },
  },
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
