/**
 * Workloads that KubeEdge, OpenYurt or a user created, and that an application takes over. Their selectors are immutable and do
 * not have the labels of the edition. New labels on their pods would restart all of them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL, EDITION_LABEL } from '../../api/index.ts';
import { mapAt, type Path, read, without, write } from '../json.ts';
import { workloadOf } from '../workloads.ts';

const SELECTOR: Path = ['spec', 'selector'];
const LABELS = [EDGE_APPLICATION_LABEL, EDITION_LABEL];

/**
 * Returns the object with the selector of the live one, if they differ only in the labels of the edition. Its pods then get
 * these labels only if they have them already. A selector that differs in another way is left to the API server, which
 * rejects the change.
 */
export function withLiveSelector(wanted: KubeObject, live: KubeObject): KubeObject {
  const workload = workloadOf(wanted);
  const liveSelector = read(live, SELECTOR);
  if (workload === undefined || workload.selector === 'none' || liveSelector === undefined) return wanted;
  if (isDeepStrictEqual(liveSelector, read(wanted, SELECTOR))) return wanted;
  const plain = LABELS.reduce(
    (changed, label) => without(changed, [...SELECTOR, 'matchLabels', label]),
    wanted,
  );
  if (!isDeepStrictEqual(liveSelector, read(plain, SELECTOR))) return wanted;
  const labels: Path = [...workload.pod, 'metadata', 'labels'];
  const kept = mapAt(live, labels);
  return LABELS.filter((label) => !Object.hasOwn(kept, label)).reduce(
    (changed, label) => without(changed, [...labels, label]),
    write(wanted, SELECTOR, liveSelector),
  );
}
