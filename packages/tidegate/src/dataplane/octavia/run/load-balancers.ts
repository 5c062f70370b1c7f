import type { Clock, JsonMap, Logger } from '@tidegate/kube';
import type { LoadBalancer } from '../../../ingress/provisioners/index.ts';
import { isKind, type Octavia, type OctaviaObject, tagsIn, textIn } from '../openstack/index.ts';
import type { OctaviaSettings } from './settings.ts';

/** On a load balancer: the cluster and the router that it belongs to. Others are never touched. */
const CLUSTER_TAG = 'tidegate.io/cluster=';
const ROUTER_TAG = 'tidegate.io/router=';

/** A load balancer that is in ERROR again this soon after its machines were replaced is created anew. */
const FAILOVER_HELPED_MS = 3_600_000;
/** Delays between two attempts to create a load balancer that ends in ERROR. */
const FIRST_RETRY_MS = 5_000;
const LAST_RETRY_MS = 600_000;

/** A router whose load balancers have ended in ERROR, since the last one that was in use. */
interface Failures {
  readonly count: number;
  /** In monotonic time. */
  readonly retryAt: number;
}

/** Finds, creates, repairs and deletes the load balancers of routers. They are recognized by their tags. */
export class LoadBalancers {
  readonly #octavia: Octavia;
  readonly #cluster: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When the machines of load balancers were replaced. */
  readonly #failedOver = new Map<string, number>();
  readonly #failures = new Map<string, Failures>();

  /** `cluster` identifies the cluster: several clusters may use one project. */
  constructor(octavia: Octavia, cluster: string, clock: Pick<Clock, 'monotonic'>) {
    this.#octavia = octavia;
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** The load balancers of a router, the oldest first. More than one is left over from a lost answer. */
  async of(router: string, signal?: AbortSignal): Promise<OctaviaObject[]> {
    return (await this.#tagged(signal)).filter((each) => routerIn(each) === router);
  }

  /** Names of routers that have a load balancer. */
  async routers(signal?: AbortSignal): Promise<Set<string>> {
    return new Set((await this.#tagged(signal)).flatMap((each) => routerIn(each) ?? []));
  }

  /**
   * The load balancer of a router, in any status. It is created if there is none. `before` is the load balancer that it had:
   * the new one gets its address. Returns the milliseconds until the next attempt if creation has failed too often.
   */
  async ensure(
    router: string,
    { subnetId, provider, flavorId, availabilityZone, vipAddress }: OctaviaSettings,
    { before, log }: { before: LoadBalancer | undefined; log: Logger },
    signal: AbortSignal,
  ): Promise<OctaviaObject | number> {
    const [first, ...others] = await this.of(router, signal);
    for (const other of others) {
      log.warn({ loadBalancer: other.id }, 'deleting a second load balancer of the router');
      await this.#delete(other, signal);
    }
    if (first !== undefined) {
      if (first.provisioning_status === 'ACTIVE') this.#failures.delete(router);
      return first;
    }
    const wait = (this.#failures.get(router)?.retryAt ?? 0) - this.#clock.monotonic();
    if (wait > 0) return wait;
    // An address of another subnet would be refused.
    const fixed = vipAddress ?? (before?.subnetID === subnetId ? before.ip : undefined);
    const body: JsonMap = {
      name: router,
      description: `Router ${router} of the cluster ${this.#cluster}`,
      vip_subnet_id: subnetId,
      project_id: await this.#octavia.session.projectId(),
      tags: [`${CLUSTER_TAG}${this.#cluster}`, `${ROUTER_TAG}${router}`],
      ...(fixed !== undefined && { vip_address: fixed }),
      ...(provider !== undefined && { provider }),
      ...(flavorId !== undefined && { flavor_id: flavorId }),
      ...(availabilityZone !== undefined && { availability_zone: availabilityZone }),
    };
    const made = await this.#octavia.create('loadbalancers', body, signal);
    log.info({ loadBalancer: made.id }, 'created a load balancer');
    return made;
  }

  /**
   * Repairs a load balancer in the status ERROR. First its machines are replaced, which keeps everything else. If that is
   * not allowed or does not help, it is deleted; the next `ensure` creates it with the same address.
   */
  async repair(
    router: string,
    loadBalancer: OctaviaObject,
    log: Logger,
    signal: AbortSignal,
  ): Promise<'failover' | 'deleted'> {
    const { id } = loadBalancer;
    const now = this.#clock.monotonic();
    if ((this.#failedOver.get(id) ?? Number.NEGATIVE_INFINITY) < now - FAILOVER_HELPED_MS) {
      this.#failedOver.set(id, now);
      try {
        await this.#octavia.failover(id, signal);
        log.warn({ loadBalancer: id }, 'the load balancer is in the status ERROR: replacing its machines');
        return 'failover';
      } catch (error) {
        if (!isKind(error, 'denied', 'busy', 'invalid', 'conflict')) throw error;
        log.info({ error: (error as Error).message }, 'the machines of the load balancer cannot be replaced');
        // Another manager or the administrator may be repairing it already.
        if (isKind(error, 'busy') && !(await this.#isFailed(id, signal))) return 'failover';
      }
    }
    log.warn({ loadBalancer: id }, 'the load balancer is in the status ERROR: creating it again');
    await this.#delete(loadBalancer, signal);
    // The first replacement starts at once. If it fails too, the reason is probably still there.
    const { count } = this.#failures.get(router) ?? { count: 0 };
    const pause = count === 0 ? 0 : Math.min(FIRST_RETRY_MS * 2 ** (count - 1), LAST_RETRY_MS);
    this.#failures.set(router, { count: count + 1, retryAt: now + pause });
    return 'deleted';
  }

  forget(router: string): void {
    this.#failures.delete(router);
  }

  /** Deletes all load balancers of a router. Returns whether they are gone. */
  async remove(router: string, signal: AbortSignal): Promise<boolean> {
    const left = await this.of(router, signal);
    for (const each of left) await this.#delete(each, signal);
    return left.length === 0;
  }

  async #isFailed(id: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#octavia.list('loadbalancers', { id }, signal);
    return found.some((each) => each.id === id && each.provisioning_status === 'ERROR');
  }

  async #delete({ id, provisioning_status: status }: OctaviaObject, signal: AbortSignal): Promise<void> {
    this.#failedOver.delete(id);
    if (status === 'PENDING_DELETE') return;
    try {
      await this.#octavia.delete('loadbalancers', id, { cascade: 'true' }, signal);
    } catch (error) {
      // While it is changing, it cannot be deleted: the next call tries again.
      if (!isKind(error, 'notFound', 'busy')) throw error;
    }
  }

  async #tagged(signal?: AbortSignal): Promise<OctaviaObject[]> {
    const tag = `${CLUSTER_TAG}${this.#cluster}`;
    // An administrator would see those of all projects.
    const project = await this.#octavia.session.projectId();
    const all = await this.#octavia.list('loadbalancers', { tags: tag, project_id: project }, signal);
    // A cloud that is too old for tags ignores the filter.
    const own = all.filter((each) => tagsIn(each).includes(tag) && each.provisioning_status !== 'DELETED');
    const age = (each: OctaviaObject): string => `${textIn(each, 'created_at')} ${each.id}`;
    return own.toSorted((a, b) => (age(a) < age(b) ? -1 : 1));
  }
}

const routerIn = (object: OctaviaObject): string | undefined =>
  tagsIn(object)
    .find((tag) => tag.startsWith(ROUTER_TAG))
    ?.slice(ROUTER_TAG.length);

/** What the class says and the load balancer is not. These settings cannot be changed later. */
export function differences(
  found: OctaviaObject,
  { subnetId, vipAddress, provider, flavorId, availabilityZone }: OctaviaSettings,
): string[] {
  const wanted = {
    ...{ subnetId: ['vip_subnet_id', subnetId], vipAddress: ['vip_address', vipAddress] },
    ...{ provider: ['provider', provider], flavorId: ['flavor_id', flavorId] },
    availabilityZone: ['availability_zone', availabilityZone],
  };
  return Object.entries(wanted).flatMap(([parameter, [field = '', value]]) => {
    const actual = textIn(found, field);
    // A provider has several names, for example amphora and octavia.
    const isSame = parameter === 'provider' ? isSameProvider(actual, value) : actual === value;
    return value === undefined || isSame ? [] : [`${parameter} is ${actual || 'empty'}, not ${value}`];
  });
}

const isSameProvider = (a: string, b: string | undefined): boolean =>
  a === b || (['amphora', 'octavia'].includes(a) && ['amphora', 'octavia'].includes(`${b}`));
