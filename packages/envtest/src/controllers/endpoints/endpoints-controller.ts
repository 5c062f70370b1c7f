/** Maintains the Endpoints object of every Service that selects pods, for clients that do not read EndpointSlices. */
import { isDeepStrictEqual } from 'node:util';
import {
  Controller,
  ENDPOINTS,
  type Endpoints,
  isNamespaceTerminating,
  isNotFound,
  type KubeClient,
  PODS,
  SERVICES,
  type Service,
} from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { OwnWrites } from '../own-writes.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { changesEndpoints } from './pod.ts';
import { hasSelector, indexSelections, podsOf, servicesOf } from './selection.ts';
import { serviceLabels } from './service-labels.ts';
import { TRIGGER_TIME } from './slice-plan.ts';
import { truncateSubsets, wantedSubsets } from './subsets.ts';
import { TriggerTimes } from './trigger-times.ts';

const MANAGED_BY_LABEL = 'endpoints.kubernetes.io/managed-by';
const MANAGED_BY = 'endpoint-controller';
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';

/** Keys are Services, which have the same names as their Endpoints. */
export const endpointsController: MakeController = ({ client, informers, clock, metrics, log }) => {
  const services = informers.for(SERVICES);
  const pods = informers.for(PODS);
  const endpoints = informers.for(ENDPOINTS);
  const writes = new OwnWrites(endpoints, clock);
  const triggerTimes = new TriggerTimes();
  indexSelections(services, pods);

  const reconcile = untilCacheCatchesUp(async (key, signal) => {
    const service = services.cache.get(key);
    const current = endpoints.cache.get(key);
    if (service === undefined) {
      triggerTimes.forget(key);
      writes.forget(key);
      if (current !== undefined) await remove(client, current, signal);
      return undefined;
    }
    if (!hasSelector(service)) return undefined;
    const requeueAfter = writes.waitMs(key);
    if (requeueAfter > 0) return { requeueAfter };
    const selected = podsOf(pods.cache, service);
    const { subsets, isTruncated } = truncateSubsets(wantedSubsets(service, selected));
    const wanted = describe(service, current, subsets, isTruncated);
    const triggerTime = triggerTimes.next(service, selected);
    if (current !== undefined && isSame(current, wanted)) return undefined;
    const written = await write(client, withTriggerTime(wanted, triggerTime), current !== undefined, signal);
    if (written !== undefined) writes.wrote(key, written);
    return undefined;
  });

  return (
    new Controller({ name: 'endpoints', reconcile, concurrency: 10, clock, metrics, log })
      .watch(services)
      .watch(pods, (pod) => servicesOf(services.cache, pod), changesEndpoints)
      // Only managed Endpoints: a user may create Endpoints before their Service, and those must not be removed.
      .watch(endpoints, ({ metadata }) =>
        metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY ? [`${metadata.namespace}/${metadata.name}`] : [],
      )
  );
};

function describe(
  service: Service,
  current: Endpoints | undefined,
  subsets: Endpoints['subsets'],
  isTruncated: boolean,
): Endpoints {
  const { name, namespace } = service.metadata;
  const { [OVER_CAPACITY]: _, [TRIGGER_TIME]: __, ...annotations } = current?.metadata.annotations ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...(current?.metadata ?? { name, namespace }),
      labels: { ...serviceLabels(service), [MANAGED_BY_LABEL]: MANAGED_BY },
      annotations: { ...annotations, ...(isTruncated && { [OVER_CAPACITY]: 'truncated' }) },
    },
    subsets,
  };
}

/** Ignores the trigger time: a different time alone does not justify a write. */
function isSame(current: Endpoints, wanted: Endpoints): boolean {
  const { [TRIGGER_TIME]: _, ...annotations } = current.metadata.annotations ?? {};
  return (
    isDeepStrictEqual(current.subsets ?? [], wanted.subsets) &&
    isDeepStrictEqual(current.metadata.labels, wanted.metadata.labels) &&
    isDeepStrictEqual(annotations, wanted.metadata.annotations)
  );
}

function withTriggerTime(object: Endpoints, time: string | undefined): Endpoints {
  if (time === undefined) return object;
  const annotations = { ...object.metadata.annotations, [TRIGGER_TIME]: time };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

async function write(
  client: KubeClient,
  wanted: Endpoints,
  exists: boolean,
  signal: AbortSignal,
): Promise<Endpoints | undefined> {
  try {
    // The API server creates the object when an update finds none.
    const request = exists ? client.update : client.create;
    return await request.call(client, ENDPOINTS, wanted, { signal });
  } catch (error) {
    if (isNamespaceTerminating(error)) return undefined;
    throw error;
  }
}

async function remove(client: KubeClient, { metadata }: Endpoints, signal: AbortSignal): Promise<void> {
  const { name = '', namespace, uid } = metadata;
  try {
    await client.delete(ENDPOINTS, { name, namespace }, { preconditions: { uid }, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
