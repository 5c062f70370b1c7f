import type { FloatingIp, Neutron } from '../openstack/index.ts';
import { isKind, OpenStackError } from '../openstack/index.ts';
import type { OctaviaSettings } from './settings.ts';

type Wanted = Pick<OctaviaSettings, 'externalSubnetId' | 'floatingIp' | 'keepFloatingIp'>;

/**
 * The floating IPs of routers. One that Tidegate has allocated is recognized by its description. It stays when the load
 * balancer is created anew, so that the address of the router never changes.
 */
export class FloatingIps {
  readonly #neutron: Neutron;
  readonly #cluster: string;

  constructor(neutron: Neutron, cluster: string) {
    this.#neutron = neutron;
    this.#cluster = cluster;
  }

  /** The floating IP of a router, assigned to the port. Undefined if the class wants none. */
  async ensure(
    router: string,
    port: string,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<FloatingIp | undefined> {
    if (wanted.floatingIp === undefined && wanted.externalSubnetId === undefined) return undefined;
    const found =
      wanted.floatingIp === undefined
        ? ((await this.#allocated(router, signal)) ??
          (await this.#allocate(router, `${wanted.externalSubnetId}`, port, signal)))
        : await this.#existing(wanted.floatingIp, signal);
    return found.portId === port ? found : this.#neutron.assign(found.id, port, signal);
  }

  /** Releases what `ensure` has allocated. A floating IP that existed before is only unassigned. */
  async release(router: string, wanted: Wanted, signal: AbortSignal): Promise<void> {
    if (!(await this.#neutron.isPresent())) return;
    if (wanted.floatingIp !== undefined) {
      const found = (await this.#neutron.list({ floating_ip_address: wanted.floatingIp }, signal))[0];
      if (found !== undefined && found.portId !== '') await this.#neutron.assign(found.id, null, signal);
    }
    const allocated = await this.#allocated(router, signal);
    if (allocated === undefined) return;
    try {
      if (!wanted.keepFloatingIp) await this.#neutron.release(allocated.id, signal);
      else if (allocated.portId !== '') await this.#neutron.assign(allocated.id, null, signal);
    } catch (error) {
      if (!isKind(error, 'notFound')) throw error;
    }
  }

  async #allocated(router: string, signal: AbortSignal): Promise<FloatingIp | undefined> {
    return (await this.#neutron.list({ description: this.#description(router) }, signal))[0];
  }

  async #allocate(router: string, subnet: string, port: string, signal: AbortSignal): Promise<FloatingIp> {
    return this.#neutron.allocate(
      {
        floating_network_id: await this.#neutron.networkOf(subnet, signal),
        subnet_id: subnet,
        port_id: port,
        description: this.#description(router),
      },
      signal,
    );
  }

  async #existing(address: string, signal: AbortSignal): Promise<FloatingIp> {
    const [found] = await this.#neutron.list({ floating_ip_address: address }, signal);
    if (found !== undefined) return found;
    throw new OpenStackError(
      `The floating IP ${address} does not exist in this project: create it, or remove the parameter floatingIp of the class.`,
      { status: 404, kind: 'invalid' },
    );
  }

  #description(router: string): string {
    return `tidegate.io cluster ${this.#cluster} router ${router}`;
  }
}
