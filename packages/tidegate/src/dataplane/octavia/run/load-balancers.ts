import type { JsonMap, Logger } from '@tidegate/kube';
import { isKind, type Octavia, type OctaviaObject, tagsIn, textIn } from '../openstack/index.ts';
import type { OctaviaSettings } from './settings.ts';

/** On a load balancer: the cluster and the router that it belongs to. Others are never touched. */
const CLUSTER_TAG = 'tidegate.io/cluster=';
const ROUTER_TAG = 'tidegate.io/router=';

/** Finds, creates, repairs and deletes the load balancers of routers. They are recognized by their tags. */
export class LoadBalancers {
  readonly #octavia: Octavia;
  readonly #cluster: string;
  /** Load balancers whose machines were replaced. If the status is ERROR again, they are created anew. */
  readonly #failedOver = new Set<string>();

  /** `cluster` identifies the cluster: several clusters may use one project. */
  constructor(octavia: Octavia, cluster: string) {
    this.#octavia = octavia;
    this.#cluster = cluster;
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
   * The load balancer of a router, in any status. It is created if there is none. `address` is the address that it had
   * before; it gets it again.
   */
  async ensure(
    router: string,
    { subnetId, provider, flavorId, availabilityZone, vipAddress }: OctaviaSettings,
    { address, log }: { address: string | undefined; log: Logger },
    signal: AbortSignal,
  ): Promise<OctaviaObject> {
    const [first, ...others] = await this.of(router, signal);
    for (const other of others) {
      log.warn({ loadBalancer: other.id }, 'deleting a second load balancer of the router');
      await this.#delete(other, signal);
    }
    if (first !== undefined) return first;
    const fixed = vipAddress ?? address;
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
    loadBalancer: OctaviaObject,
    log: Logger,
    signal: AbortSignal,
  ): Promise<'failover' | 'deleted'> {
    const { id } = loadBalancer;
    if (!this.#failedOver.has(id)) {
      this.#failedOver.add(id);
      try {
        await this.#octavia.failover(id, signal);
        log.warn({ loadBalancer: id }, 'the load balancer is in the status ERROR: replacing its machines');
        return 'failover';
      } catch (error) {
        if (!isKind(error, 'denied', 'busy', 'invalid', 'conflict')) throw error;
        log.info({ error: (error as Error).message }, 'the machines of the load balancer cannot be replaced');
      }
    }
    log.warn({ loadBalancer: id }, 'the load balancer is in the status ERROR: creating it again');
    await this.#delete(loadBalancer, signal);
    return 'deleted';
  }

  /** Deletes all load balancers of a router. Returns whether they are gone. */
  async remove(router: string, signal: AbortSignal): Promise<boolean> {
    const left = await this.of(router, signal);
    for (const each of left) await this.#delete(each, signal);
    return left.length === 0;
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
    const all = await this.#octavia.list('loadbalancers', { tags: tag }, signal);
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
