import { Namespace } from '../support/namespace.ts';

/** All machines of the tests have addresses of one network. The sites are bridges that are connected by links. */
const PREFIX = 16;

/** The local network of a site: a bridge in a namespace of its own, which machines and other sites are connected to. */
export class Lan {
  readonly namespace: Namespace;

  private constructor(namespace: Namespace) {
    this.namespace = namespace;
  }

  static async create(site: string): Promise<Lan> {
    const namespace = await Namespace.create(`lan-${site}`);
    await namespace.ip('link', 'add', 'br0', 'type', 'bridge');
    await namespace.ip('link', 'set', 'br0', 'up');
    return new Lan(namespace);
  }

  /** Gives the site itself an address, for clients that are not on a node. */
  async addAddress(address: string): Promise<void> {
    await this.namespace.ip('address', 'add', `${address}/${PREFIX}`, 'dev', 'br0');
  }

  /** Connects a machine. The network is its default route, because iptables only handles packets that have a route. */
  async attach(machine: Namespace, port: string, address: string): Promise<void> {
    await this.#plug(port, 'eth0', machine);
    await machine.ip('address', 'add', `${address}/${PREFIX}`, 'dev', 'eth0');
    await machine.ip('link', 'set', 'eth0', 'up');
    await machine.ip('route', 'add', 'default', 'dev', 'eth0');
    await machine.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  }

  /** Connects this site to another. The link can be cut. */
  async connect(other: Lan, name: string): Promise<void> {
    await this.#plug('uplink', name, other.namespace);
    await other.namespace.ip('link', 'set', name, 'master', 'br0', 'up');
  }

  cut(): Promise<void> {
    return this.namespace.ip('link', 'set', 'uplink', 'down');
  }

  mend(): Promise<void> {
    return this.namespace.ip('link', 'set', 'uplink', 'up');
  }

  remove(): Promise<void> {
    return this.namespace.remove();
  }

  async #plug(port: string, peer: string, other: Namespace): Promise<void> {
    const link = ['link', 'add', port, 'type', 'veth', 'peer', 'name', peer, 'netns', other.name];
    await this.namespace.ip(...link);
    await this.namespace.ip('link', 'set', port, 'master', 'br0', 'up');
  }
}
