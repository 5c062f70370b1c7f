import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL, EDITION_LABEL } from '../../api/index.ts';
import { listAt, mapAt, type Path, read, write } from '../json.ts';
import type { Workload } from '../workloads.ts';
import { nameIn } from './names.ts';
import type { Requirement, Target } from './targets.ts';

/** The manifest binds its pods to nodes that are not nodes of the target. */
export class NodeSelectorConflict extends Error {
  override readonly name = 'NodeSelectorConflict';
  /** The field of the manifest. */
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Builds the edition of a workload for one target. It has its own name, and its pods run only on nodes of the target.
 *
 * The pods and the selector get labels for the application and the edition. Without them, the editions would have equal
 * selectors and would adopt the pods of each other. The labels of the manifest are kept, so a Service still selects the
 * pods of all editions. Throws NodeSelectorConflict.
 */
export function editionOf(
  object: KubeObject,
  workload: Workload,
  target: Target,
  application: string,
): KubeObject {
  const labels = { [EDGE_APPLICATION_LABEL]: application, [EDITION_LABEL]: target.edition };
  const name = nameIn(target, object.metadata.name ?? '', workload.maxNameLength);
  const named = { ...object, metadata: { ...object.metadata, name } };
  const labeled = merge(
    merge(named, ['metadata', 'labels'], labels),
    [...workload.pod, 'metadata', 'labels'],
    labels,
  );
  const selecting = hasSelector(labeled, workload)
    ? merge(labeled, ['spec', 'selector', 'matchLabels'], labels)
    : labeled;
  return placed(selecting, [...workload.pod, 'spec'], target);
}

const merge = (object: KubeObject, path: Path, entries: Record<string, unknown>): KubeObject =>
  write(object, path, { ...mapAt(object, path), ...entries });

/**
 * Whether to extend the selector. A missing selector is not created: the API server reports it as an error, whereas
 * a selector with only our labels would also select pods of other workloads of the application.
 */
function hasSelector(object: KubeObject, { selector }: Workload): boolean {
  if (selector === 'none' || !isJsonMap(read(object, ['spec', 'selector']))) return false;
  return selector === 'given' || read(object, ['spec', 'manualSelector']) === true;
}

/** Limits the pods to the nodes of the target: with a node selector for a pool, with node affinity for labels. */
function placed(object: KubeObject, podSpec: Path, { nodes }: Target): KubeObject {
  if ('requirements' in nodes) return withAffinity(object, podSpec, nodes.requirements);
  const path = [...podSpec, 'nodeSelector'];
  const written = mapAt(object, path)[nodes.label];
  if (written !== undefined && written !== nodes.pool) {
    throw new NodeSelectorConflict(
      [...path, nodes.label],
      `the template selects nodes of pool ${String(written)}, so it cannot run in pool ${nodes.pool}: remove ${nodes.label}`,
    );
  }
  return merge(object, path, { [nodes.label]: nodes.pool });
}

const termsPath = (podSpec: Path): Path => [
  ...podSpec,
  'affinity',
  'nodeAffinity',
  'requiredDuringSchedulingIgnoredDuringExecution',
  'nodeSelectorTerms',
];

/** How many requirements the edition gets. */
export function placementCost(object: KubeObject, workload: Workload, { nodes }: Target): number {
  if (!('requirements' in nodes)) return 1;
  const terms = listAt(object, termsPath([...workload.pod, 'spec'])).length;
  return Math.max(terms, 1) * nodes.requirements.length;
}

/** Adds the requirements to every term, because a node needs to match only one of the terms. */
function withAffinity(object: KubeObject, podSpec: Path, requirements: readonly Requirement[]): KubeObject {
  const path = termsPath(podSpec);
  const written = listAt(object, path).filter(isJsonMap);
  const terms = (written.length === 0 ? [{}] : written).map((term) => ({
    ...term,
    matchExpressions: [...listAt(term, ['matchExpressions']), ...requirements],
  }));
  return write(object, path, terms);
}
