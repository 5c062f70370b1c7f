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

interface Asking {
  client: KubeClient;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Clusters before 1.21 have them as v1beta1 only. Asks until there is an answer; rejects only when aborted. */
export async function endpointSlices(asking: Asking, signal: AbortSignal): Promise<Resource<EndpointSlice>> {
  const { client, clock, random, log } = asking;
  for (let failures = 0; ; failures++) {
    try {
      const isOld =
        !(await client.discovery.serves(ENDPOINT_SLICES)) &&
        (await client.discovery.serves(OLD_ENDPOINT_SLICES));
      return isOld ? OLD_ENDPOINT_SLICES : ENDPOINT_SLICES;
    } catch (error) {
      log.warn({ err: error }, 'can not find out what the API server serves; trying again');
      await sleep(clock, backoffDelay(failures, BACKOFF, random), signal);
    }
  }
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number] & { topology?: Record<string, string> };

/** v1beta1 says in `topology` where an endpoint is. */
export function nodeOfEndpoint({ nodeName, topology }: Endpoint): string | undefined {
  return nodeName ?? topology?.['kubernetes.io/hostname'];
}
