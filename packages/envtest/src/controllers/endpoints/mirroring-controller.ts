/**
 * Mirrors Endpoints that users write for a Service without a selector into EndpointSlices, which is what proxies
 * read.
 */
import { Controller, ENDPOINTS, type Endpoints, SERVICES } from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { mirroredAnnotations, mirroredGroups } from './mirrored-groups.ts';
import { SliceWriter } from './slice-writer.ts';

const MANAGED_BY = 'endpointslicemirroring-controller.k8s.io';
const SKIP_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
/** Large enough that every subset fits into one slice. */
const MAX_ENDPOINTS = 1000;

/** Keys are Services, which have the same names as their Endpoints. Slices whose original is gone are deleted. */
export const endpointSliceMirroringController: MakeController = (context) => {
  const { informers, clock, metrics, log } = context;
  const services = informers.for(SERVICES);
  const endpoints = informers.for(ENDPOINTS);
  const slices = new SliceWriter(context, MANAGED_BY);

  const reconcile = untilCacheCatchesUp(async (key, signal) => {
    const requeueAfter = slices.waitMs(key);
    if (requeueAfter > 0) return { requeueAfter };
    const original = endpoints.cache.get(key);
    const service = services.cache.get(key);
    const isForUsers = service !== undefined && Object.keys(service.spec?.selector ?? {}).length === 0;
    if (original === undefined || !isForUsers || !isMirrored(original)) {
      for (const slice of slices.of(key)) await slices.remove(key, slice, signal);
      return undefined;
    }
    const wanted = {
      owner: original,
      labels: original.metadata.labels ?? {},
      annotations: mirroredAnnotations(original),
      groups: mirroredGroups(original, MAX_ENDPOINTS),
      maxEndpoints: MAX_ENDPOINTS,
    };
    await slices.sync(wanted, signal);
    return undefined;
  });

  return new Controller({ name: 'endpointslicemirroring', reconcile, clock, metrics, log })
    .watch(endpoints)
    .watch(services)
    .watch(slices.informer, slices.keysOf);
};

/** Objects of leader election are Endpoints as well in old clusters; nothing proxies to them. */
const isMirrored = ({ metadata }: Endpoints): boolean =>
  metadata.labels?.[SKIP_LABEL] !== 'true' && metadata.annotations?.[LEADER_ANNOTATION] === undefined;
