import {
  backoffDelay,
  type Clock,
  ENDPOINT_SLICES,
  type EndpointSlice,
  type KubeClient,
  type Logger,
  type Random,
  type Resource,
  sleep,
} from '@tidegate/kube';

const OLD_ENDPOINT_SLICES: Resource<EndpointSlice> = { ...ENDPOINT_SLICES, version: 'v1beta1' };
const BACKOFF = { baseMs: 500, maxMs: 5_000 };

interface Dependencies {
  client: KubeClient;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** The API version of EndpointSlices that the cluster serves: clusters before Kubernetes 1.21 have v1beta1 only. */
export async function servedEndpointSlices({
  discovery,
}: Pick<KubeClient, 'discovery'>): Promise<Resource<EndpointSlice>> {
  const isOld = !(await discovery.serves(ENDPOINT_SLICES)) && (await discovery.serves(OLD_ENDPOINT_SLICES));
  return isOld ? OLD_ENDPOINT_SLICES : ENDPOINT_SLICES;
}

/** Retries until discovery succeeds; rejects only if aborted. */
export async function endpointSlices(
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<Resource<EndpointSlice>> {
  const { client, clock, random, log } = dependencies;
  for (let failures = 0; ; failures++) {
    try {
      return await servedEndpointSlices(client);
    } catch (error) {
      log.warn({ err: error }, 'cannot discover the API versions of the API server; retrying');
      await sleep(clock, backoffDelay(failures, BACKOFF, random), signal);
    }
  }
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number] & { topology?: Record<string, string> };

/** v1beta1 has the node of an endpoint in `topology`. */
export function nodeOfEndpoint({ nodeName, topology }: Endpoint): string | undefined {
  return nodeName ?? topology?.['kubernetes.io/hostname'];
}
