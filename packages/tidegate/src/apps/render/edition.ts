import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL, EDITION_LABEL } from '../../api/index.ts';
import { listAt, mapAt, type Path, read, write } from '../json.ts';
import { editionName } from './names.ts';
import type { Requirement, Target } from './targets.ts';
import type { Workload } from './workloads.ts';

/** What the manifest says and the edition can not have. */
export class PlacementConflict extends Error {
  override readonly name = 'PlacementConflict';
  /** The field of the manifest. */
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * The edition of a workload for one target: a name and pods of its own, and those only on the target's nodes. Its pods
 * have labels that tell them from those of other editions; the labels that the manifest gives stay, so that a Service
 * still finds them all. Throws PlacementConflict.
 */
export function editionOf(
  object: KubeObject,
  workload: Workload,
  target: Target,
  application: string,
): KubeObject {
  const labels = { [EDGE_APPLICATION_LABEL]: application, [EDITION_LABEL]: target.edition };
  const name = editionName(object.metadata.name ?? '', target.edition, workload.longestName);
  const named = { ...object, metadata: { ...object.metadata, name } };
  const labelled = merge(
    merge(named, ['metadata', 'labels'], labels),
    [...workload.pod, 'metadata', 'labels'],
    labels,
  );
  const selecting = hasSelector(labelled, workload)
    ? merge(labelled, ['spec', 'selector', 'matchLabels'], labels)
    : labelled;
  return placed(selecting, [...workload.pod, 'spec'], target);
}

const merge = (object: KubeObject, path: Path, entries: Record<string, unknown>): KubeObject =>
  write(object, path, { ...mapAt(object, path), ...entries });

/** A selector that is not there is for the server to complain about: ours alone would take pods from others. */
function hasSelector(object: KubeObject, { selector }: Workload): boolean {
  if (selector === 'none' || !isJsonMap(read(object, ['spec', 'selector']))) return false;
  return selector === 'given' || read(object, ['spec', 'manualSelector']) === true;
}

function placed(object: KubeObject, podSpec: Path, { nodes }: Target): KubeObject {
  if ('requirements' in nodes) return withAffinity(object, podSpec, nodes.requirements);
  const path = [...podSpec, 'nodeSelector'];
  const written = mapAt(object, path)[nodes.label];
  if (written !== undefined && written !== nodes.pool) {
    throw new PlacementConflict(
      [...path, nodes.label],
      `the template wants nodes of ${String(written)} only, so it can not run in ${nodes.pool}: leave ${nodes.label} out`,
    );
  }
  return merge(object, path, { [nodes.label]: nodes.pool });
}

/** Terms are alternatives: each must have the requirements. */
function withAffinity(object: KubeObject, podSpec: Path, requirements: readonly Requirement[]): KubeObject {
  const path = [
    ...podSpec,
    'affinity',
    'nodeAffinity',
    'requiredDuringSchedulingIgnoredDuringExecution',
    'nodeSelectorTerms',
  ];
  const written = listAt(object, path).filter(isJsonMap);
  const terms = (written.length === 0 ? [{}] : written).map((term) => ({
    ...term,
    matchExpressions: [...listAt(term, ['matchExpressions']), ...requirements],
  }));
  return write(object, path, terms);
}
