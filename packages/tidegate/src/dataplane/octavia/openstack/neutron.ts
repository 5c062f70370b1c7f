import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { OpenStackError } from './errors.ts';
import { textIn } from './octavia.ts';
import type { Session } from './session.ts';

export interface FloatingIp {
  readonly id: string;
  readonly address: string;
  /** Empty if no port has the floating IP. */
  readonly portId: string;
  readonly networkId: string;
  readonly description: string;
}

const PATH = '/v2.0/floatingips';

/** The part of Neutron for floating IPs. */
export class Neutron {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Whether the cloud has Neutron. */
  isPresent(): Promise<boolean> {
    return this.#session.has('network');
  }

  /** The network of a subnet. */
  async networkOf(subnet: string, signal?: AbortSignal): Promise<string> {
    const call = { method: 'GET', path: `/v2.0/subnets/${encodeURIComponent(subnet)}` } as const;
    const { subnet: found } = await this.#session.call('network', call, signal);
    return isJsonMap(found) ? textIn(found, 'network_id') : '';
  }

  /** Those of the project. `filter`: fields and their values, for example a description or an address. */
  async list(filter: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<FloatingIp[]> {
    // An administrator would see those of all projects.
    const query = { ...filter, project_id: await this.#session.projectId() };
    const call = { method: 'GET', path: PATH, query } as const;
    const { floatingips } = await this.#session.call('network', call, signal);
    return Array.isArray(floatingips) ? floatingips.filter(isJsonMap).map(floatingIpOf) : [];
  }

  async allocate(fields: JsonMap, signal?: AbortSignal): Promise<FloatingIp> {
    return this.#write('POST', PATH, fields, signal);
  }

  /** Changes the port or the description. Without a port, the floating IP is kept but not used. */
  async update(
    id: string,
    fields: { port_id?: string | null; description?: string },
    signal?: AbortSignal,
  ): Promise<FloatingIp> {
    return this.#write('PUT', `${PATH}/${id}`, fields, signal);
  }

  async release(id: string, signal?: AbortSignal): Promise<void> {
    await this.#session.call('network', { method: 'DELETE', path: `${PATH}/${id}` }, signal);
  }

  async #write(
    method: 'POST' | 'PUT',
    path: string,
    fields: JsonMap,
    signal?: AbortSignal,
  ): Promise<FloatingIp> {
    const call = { method, path, body: { floatingip: fields } };
    const { floatingip } = await this.#session.call('network', call, signal);
    if (isJsonMap(floatingip)) return floatingIpOf(floatingip);
    throw new OpenStackError(`network: ${method} ${path}: the response has no floatingip`, {
      status: 200,
      kind: 'unavailable',
    });
  }
}

const floatingIpOf = (object: JsonMap): FloatingIp => ({
  id: textIn(object, 'id'),
  address: textIn(object, 'floating_ip_address'),
  portId: textIn(object, 'port_id'),
  networkId: textIn(object, 'floating_network_id'),
  description: textIn(object, 'description'),
});
