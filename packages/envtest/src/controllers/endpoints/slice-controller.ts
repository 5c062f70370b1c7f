/** Maintains the EndpointSlices of every Service that selects pods. */
import { Controller, NODES, PODS, SERVICES } from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { changesEndpoints } from './pod.ts';
import { hasSelector, indexSelections, podsOf, podsOn, servicesOf } from './selection.ts';
import { serviceLabels } from './service-labels.ts';
import { wantedGroups, ZONE_LABEL } from './slice-groups.ts';
import { SliceWriter } from './slice-writer.ts';
import { TriggerTimes } from './trigger-times.ts';

const MANAGED_BY = 'endpointslice-controller.k8s.io';
/**
 * The default of kube-controller-manager. Smaller slices cost less when one endpoint changes, larger ones need fewer
 * objects.
 */
const MAX_ENDPOINTS = 100;

/**
 * Keys are Services. A change of a pod reconciles the Services that select it; a change of the zone of a node, those
 * of all its pods.
 */
export const endpointSliceController: MakeController = (context) => {
  const { informers, clock, metrics, log } = context;
  const services = informers.for(SERVICES);
  const pods = informers.for(PODS);
  const nodes = informers.for(NODES);
  const slices = new SliceWriter(context, MANAGED_BY);
  const triggerTimes = new TriggerTimes();
  indexSelections(services, pods);

  const reconcile = untilCacheCatchesUp(async (key, signal) => {
    const service = services.cache.get(key);
    // The slices of a deleted Service are deleted by the garbage collector, because the Service owns them.
    if (service === undefined) triggerTimes.forget(key);
    if (service === undefined || !hasSelector(service)) return undefined;
    const requeueAfter = slices.waitMs(key);
    if (requeueAfter > 0) return { requeueAfter };
    const selected = podsOf(pods.cache, service);
    const groups = wantedGroups(service, selected, (name) => nodes.cache.get(name));
    const triggerTime = triggerTimes.next(service, selected);
    const labels = serviceLabels(service);
    await slices.sync({ owner: service, labels, groups, maxEndpoints: MAX_ENDPOINTS, triggerTime }, signal);
    return undefined;
  });

  return new Controller({ name: 'endpointslice', reconcile, concurrency: 10, clock, metrics, log })
    .watch(services)
    .watch(slices.informer, slices.keysOf)
    .watch(pods, (pod) => servicesOf(services.cache, pod), changesEndpoints)
    .watch(
      nodes,
      ({ metadata }) =>
        podsOn(pods.cache, metadata.name ?? '').flatMap((pod) => servicesOf(services.cache, pod)),
      (old, node) => old.metadata.labels?.[ZONE_LABEL] !== node.metadata.labels?.[ZONE_LABEL],
    );
};
