import type { KubeObject } from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
  SERVICE_TOPOLOGY_ANNOTATION,
  SERVICE_TOPOLOGY_NODE_GROUP,
} from '../../api/index.ts';
import { collisionsIn } from './collisions.ts';
import { decodeManifests, type Manifest } from './decode.ts';
import type { RenderError, Rendered, RenderResult } from './result.ts';
import type { ScopeOf } from './scopes.ts';
import { renderTarget } from './target-editions.ts';
import type { Target } from './targets.ts';
import { workloadOf } from './workloads.ts';

/** A name that is longer can not be the value of a label. */
const LONGEST_LABEL = 63;

/**
 * All objects of an application: an edition of each workload for each target, and everything else once. The same
 * application gives the same bytes, and neither the order of manifests nor what other targets say changes an object.
 */
export function render(
  application: EdgeApplication,
  targets: readonly Target[],
  scopeOf: ScopeOf,
): RenderResult {
  const nameError = errorOfName(application);
  if (nameError !== undefined) return { objects: [], errors: [nameError] };
  const { manifests, errors } = decodeManifests(application, scopeOf);
  const workloads = manifests.filter(({ object }) => workloadOf(object) !== undefined);
  const others = manifests.filter(({ object }) => workloadOf(object) === undefined);
  const complete = errors.length === 0;
  const editions = targets.map((target) => renderTarget(application, workloads, target, complete));
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
  if (name !== '' && name.length <= LONGEST_LABEL) return undefined;
  return {
    path: 'metadata.name',
    message: `the name becomes the value of a label: give one of 1 to ${LONGEST_LABEL} characters`,
  };
}

const once = ({ ordinal, object }: Manifest): Rendered => ({
  ordinal,
  object: object.apiVersion === 'v1' && object.kind === 'Service' ? scoped(object) : object,
});

/** By our label alone clients reach endpoints in their own pool only; this tells KubeEdge's components the same. */
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

/** By these labels everything is found again, in whatever namespace it is. */
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
