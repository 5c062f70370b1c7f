/** Fields that the server sets in a new pod: the first status, and the result of the default admission plugins. */
import { compareQuantities, ownField, parseQuantity, type Quantity } from '@tidegate/kube';
import { type ApiError, forbidden } from '@tidegate/serving';
import type { Store } from '../../store/types.ts';
import type { RequestContext } from '../types.ts';
import { type PriorityClass, SYSTEM_CLASSES } from './priority.ts';
import type { Container, Pod, PodSpec, Toleration } from './types.ts';

const EVICTION_DELAY_SECONDS = 300;
const PREEMPT = 'PreemptLowerPriority';
export function preparePodForCreate(pod: Pod, { now, store }: RequestContext): void {
  const { spec } = pod;
  if (!spec.serviceAccountName)
    Object.assign(spec, { serviceAccountName: 'default', serviceAccount: 'default' });
  setPriority(pod, store);
  addDefaultTolerations(spec);
  pod.status = { phase: 'Pending', qosClass: qosClass(spec) };
  if ((spec.schedulingGates ?? []).length > 0) {
    pod.status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
        lastProbeTime: null,
        lastTransitionTime: now.toISOString().replace(/\.\d+Z$/, 'Z'),
      },
    ];
  }
}

/** The priority is computed from the priority class. Clients cannot set it. */
function setPriority(pod: Pod, store: Store): void {
  const { spec } = pod;
  const refuse = (why: string): ApiError =>
    forbidden({ group: '', resource: 'pods' }, pod.metadata.name ?? '', why);
  const className = spec.priorityClassName ?? '';
  const found = className === '' ? defaultClass(store) : classNamed(store, className);
  if (className !== '' && found === undefined) {
    throw refuse(`no PriorityClass with name ${className} was found`);
  }
  if (className === '' && found !== undefined) spec.priorityClassName = found.metadata.name;
  const { value: priority = 0, preemptionPolicy = PREEMPT } = found ?? {};
  const computed = 'priority admission controller computed';
  if (spec.priority !== undefined && spec.priority !== priority) {
    throw refuse(
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; ${computed} ${priority} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; ${computed} ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
  Object.assign(spec, { priority, preemptionPolicy });
}

const CLASSES = 'scheduling.k8s.io/priorityclasses';

/** The system classes exist from the start, but a client could have deleted them. */
function classNamed(store: Store, name: string): PriorityClass | undefined {
  const entry = store.get({ resource: CLASSES, namespace: '', name });
  if (entry !== undefined) return JSON.parse(entry.value.toString()) as PriorityClass;
  return SYSTEM_CLASSES.find(({ metadata }) => metadata.name === name);
}

/** If there are several default classes, that with the lowest value. */
const defaultClass = (store: Store): PriorityClass | undefined =>
  store
    .list(CLASSES)
    .entries.map((entry) => JSON.parse(entry.value.toString()) as PriorityClass)
    .filter(({ globalDefault }) => globalDefault === true)
    .sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];

/** Unless a pod sets tolerations, it stays on an unreachable or not-ready node for five minutes. */
export function addDefaultTolerations(spec: PodSpec): void {
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const tolerates = (toleration: Toleration): boolean =>
      (toleration.key === key || !toleration.key) &&
      (toleration.effect === 'NoExecute' || !toleration.effect);
    if ((spec.tolerations ?? []).some(tolerates)) continue;
    spec.tolerations = [
      ...(spec.tolerations ?? []),
      { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: EVICTION_DELAY_SECONDS },
    ];
  }
}

const ZERO: Quantity = { nanos: 0n, format: 'decimal' };

/** The positive amounts of CPU and memory in a list. */
function computeResources(list: Record<string, string> | undefined): Map<string, Quantity> {
  const found = new Map<string, Quantity>();
  for (const name of ['cpu', 'memory']) {
    const quantity = parseQuantity(String(ownField(list, name) ?? ''));
    if (quantity !== undefined && compareQuantities(quantity, ZERO) > 0) found.set(name, quantity);
  }
  return found;
}

export function qosClass(spec: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const resources: Pick<Container, 'resources'>[] =
    spec.resources === undefined ? [...(spec.containers ?? []), ...(spec.initContainers ?? [])] : [spec];
  let any = false;
  let guaranteed = true;
  for (const container of resources) {
    const requests = computeResources(container.resources?.requests);
    const limits = computeResources(container.resources?.limits);
    any ||= requests.size + limits.size > 0;
    guaranteed &&=
      limits.size === 2 &&
      [...limits].every(([name, limit]) => {
        const request = requests.get(name);
        return request === undefined || compareQuantities(request, limit) === 0;
      });
  }
  if (!any) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
