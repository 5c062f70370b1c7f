import type { FloatingIp, Neutron } from '../openstack/index.ts';
import { isKind, OpenStackError } from '../openstack/index.ts';
import type { OctaviaSettings } from './settings.ts';

type Wanted = Pick<OctaviaSettings, 'externalSubnetId' | 'floatingIp' | 'keepFloatingIp'>;

/** At the end of the description of a floating IP that must survive its router. */
const KEPT = ' (kept)';

/**
 * The floating IPs of routers. One that Tidegate has allocated is recognized by its description. It stays when the load
 * balancer is created anew, so that the address of the router never changes.
 */
export class FloatingIps {
  readonly #neutron: Neutron;
  readonly #cluster: string;
  /** The network of a subnet never changes. */
  readonly #networks = new Map<string, string>();

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
    const { floatingIp, externalSubnetId, keepFloatingIp } = wanted;
    const isWanted = floatingIp !== undefined || externalSubnetId !== undefined;
    if (!isWanted && !(await this.#neutron.isPresent())) return undefined;
    const allocated = await this.#allocated(router, signal);
    if (floatingIp !== undefined || externalSubnetId === undefined) {
      // The class had another setting before. A port has at most one floating IP.
      if (allocated !== undefined) await this.#drop(allocated, keepFloatingIp, signal);
      return floatingIp === undefined ? undefined : this.#assigned(floatingIp, port, signal);
    }
    const network = await this.#networkOf(externalSubnetId, signal);
    if (allocated !== undefined && allocated.networkId === network)
      return this.#update(
        allocated,
        { portId: port, description: this.#description(router, keepFloatingIp) },
        signal,
      );
    if (allocated !== undefined) await this.#drop(allocated, keepFloatingIp, signal);
    const description = this.#description(router, keepFloatingIp);
    const fields = { floating_network_id: network, subnet_id: externalSubnetId, port_id: port, description };
    return this.#neutron.allocate(fields, signal);
  }

  /** Releases what `ensure` has allocated. A floating IP that existed before is only unassigned from the port. */
  async release(
    router: string,
    { floatingIp, keepFloatingIp }: Pick<Wanted, 'floatingIp' | 'keepFloatingIp'>,
    port: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!(await this.#neutron.isPresent())) return;
    if (floatingIp !== undefined && port !== undefined) {
      const [found] = await this.#neutron.list({ floating_ip_address: floatingIp }, signal);
      if (found?.portId === port) await this.#neutron.update(found.id, { port_id: null }, signal);
    }
    const allocated = await this.#allocated(router, signal);
    if (allocated !== undefined) await this.#drop(allocated, keepFloatingIp, signal);
  }

  /** Names of routers that have a floating IP which would not be kept. */
  async routers(signal: AbortSignal): Promise<string[]> {
    if (!(await this.#neutron.isPresent())) return [];
    const start = this.#description('', false);
    return (await this.#neutron.list({}, signal))
      .map(({ description }) => description)
      .filter((text) => text.startsWith(start) && !text.endsWith(KEPT))
      .map((text) => text.slice(start.length));
  }

  /** What is marked as kept is kept, also if the settings of the router are not known any more. */
  async #drop(found: FloatingIp, keep: boolean, signal: AbortSignal): Promise<void> {
    const isKept = found.description.endsWith(KEPT);
    const description = isKept || !keep ? found.description : `${found.description}${KEPT}`;
    try {
      if (keep || isKept) await this.#update(found, { portId: '', description }, signal);
      else await this.#neutron.release(found.id, signal);
    } catch (error) {
      if (!isKind(error, 'notFound')) throw error;
    }
  }

  async #update(
    found: FloatingIp,
    { portId, description }: Pick<FloatingIp, 'portId' | 'description'>,
    signal: AbortSignal,
  ): Promise<FloatingIp> {
    const change = {
      ...(found.portId !== portId && { port_id: portId === '' ? null : portId }),
      ...(found.description !== description && { description }),
    };
    return Object.keys(change).length === 0 ? found : this.#neutron.update(found.id, change, signal);
  }

  async #allocated(router: string, signal: AbortSignal): Promise<FloatingIp | undefined> {
    for (const keep of [false, true]) {
      const [found] = await this.#neutron.list({ description: this.#description(router, keep) }, signal);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A floating IP of the user. One that another port has is not taken away. */
  async #assigned(address: string, port: string, signal: AbortSignal): Promise<FloatingIp> {
    const [found] = await this.#neutron.list({ floating_ip_address: address }, signal);
    if (found === undefined)
      throw new OpenStackError(
        `The floating IP ${address} does not exist in this project: create it, or remove the parameter floatingIp of the class.`,
        { status: 404, kind: 'invalid' },
      );
    if (found.portId !== '' && found.portId !== port)
      throw new OpenStackError(
        `The floating IP ${address} is in use by port ${found.portId}: unassign it, or set the parameter floatingIp of the class to another one. A class with several routers needs externalSubnetId instead.`,
        { status: 409, kind: 'invalid' },
      );
    const { description } = found;
    return this.#update(found, { portId: port, description }, signal);
  }

  async #networkOf(subnet: string, signal: AbortSignal): Promise<string> {
    const network = this.#networks.get(subnet) ?? (await this.#neutron.networkOf(subnet, signal));
    this.#networks.set(subnet, network);
    return network;
  }

  #description(router: string, keep: boolean): string {
    return `tidegate.io cluster ${this.#cluster} router ${router}${keep ? KEPT : ''}`;
  }
}
