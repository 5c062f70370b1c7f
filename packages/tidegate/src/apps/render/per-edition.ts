/**
 * Which manifests get an edition for each target. Workloads always do. Objects that belong to workloads follow them: an
 * autoscaler names one workload, and a disruption budget that spans sites would let one site block another. For all other
 * objects, the author decides with an annotation: pods of existing applications refer to them by name.
 */
import {
  isJsonMap,
  type KubeObject,
  type LabelSelector,
  matcherFromSelector,
  SelectorError,
} from '@tidegate/kube';
import { EDITIONS_ANNOTATION } from '../../api/index.ts';
import { mapAt, read, without } from '../json.ts';
import { workloadOf } from '../workloads.ts';
import type { Manifest } from './decode.ts';
import { kindOf } from './scopes.ts';

/** Fields in which autoscalers of any kind name their workload. */
export const SCALE_TARGETS = ['scaleTargetRef', 'targetRef'];

/** The manifests of the template, by whether they get editions. */
export function splitByEdition(manifests: readonly Manifest[]): { each: Manifest[]; once: Manifest[] } {
  const workloads = manifests.filter(({ object }) => workloadOf(object) !== undefined);
  const each: Manifest[] = [];
  const once: Manifest[] = [];
  for (const manifest of manifests) (hasEditions(manifest.object, workloads) ? each : once).push(manifest);
  return { each, once };
}

function hasEditions(object: KubeObject, workloads: readonly Manifest[]): boolean {
  if (workloadOf(object) !== undefined) return true;
  const chosen = object.metadata.annotations?.[EDITIONS_ANNOTATION];
  if (chosen !== undefined) return chosen === 'each';
  const { namespace } = object.metadata;
  const near = workloads.filter((workload) => workload.object.metadata.namespace === namespace);
  return near.some((workload) => scales(object, workload.object) || protects(object, workload.object));
}

/** The manifest with the annotation that is for the application only removed. */
export function withoutChoice(object: KubeObject): KubeObject {
  const changed = without(object, ['metadata', 'annotations', EDITIONS_ANNOTATION]);
  const isEmpty = changed !== object && Object.keys(changed.metadata.annotations ?? {}).length === 0;
  return isEmpty ? without(changed, ['metadata', 'annotations']) : changed;
}

/** The autoscaler of a workload. It decides the number of replicas. */
export const autoscalerOf = (workload: KubeObject, manifests: readonly Manifest[]): KubeObject | undefined =>
  manifests.find(
    ({ object }) =>
      object.metadata.namespace === workload.metadata.namespace &&
      isAutoscaler(object) &&
      scales(object, workload),
  )?.object;

/** A VerticalPodAutoscaler changes requests, not replicas. */
const isAutoscaler = ({ kind }: KubeObject): boolean =>
  kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject';

/** Whether the object is an autoscaler of the workload. KEDA may omit the kind, which then is a Deployment. */
const scales = (object: KubeObject, workload: KubeObject): boolean =>
  SCALE_TARGETS.some((field) => {
    const { kind = 'Deployment', name } = mapAt(object, ['spec', field]);
    return name === workload.metadata.name && kind === workload.kind;
  });

/** Whether the object is a disruption budget for pods of the workload. */
function protects(object: KubeObject, workload: KubeObject): boolean {
  const { group, kind } = kindOf(object);
  if (group !== 'policy' || kind !== 'PodDisruptionBudget') return false;
  const selector = read(object, ['spec', 'selector']);
  if (!isJsonMap(selector)) return false;
  const labels = mapAt(workload, [...workloadOf(workload)!.pod, 'metadata', 'labels']);
  try {
    // An empty selector selects all pods of the namespace.
    return matcherFromSelector(selector as LabelSelector).matches(labels as Record<string, string>);
  } catch (error) {
    // The API server reports a selector that is not valid.
    if (!(error instanceof SelectorError)) throw error;
    return false;
  }
}
