import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROJECT } from './routers.ts';

interface FloatingIp extends Record<string, unknown> {
  id: string;
  floating_ip_address: string;
  floating_network_id: string;
  port_id: string | null;
  description: string;
}

/** The fields that a client may set, as the reference of the Networking API lists them. */
const CREATE = [
  'floating_network_id',
  'subnet_id',
  'port_id',
  'description',
  'floating_ip_address',
  'fixed_ip_address',
  'project_id',
  'tenant_id',
];
const UPDATE = ['port_id', 'description', 'fixed_ip_address'];
const FILTERS = [
  'description',
  'floating_ip_address',
  'port_id',
  'id',
  'status',
  'project_id',
  'limit',
  'marker',
  'fields',
];

class Refusal extends Error {
  readonly status: number;
  readonly type: string;
  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/**
 * The part of Neutron's API for floating IPs: strict about paths, fields and filters, with the errors of Neutron. The
 * subnet `EXTERNAL_SUBNET` has a few addresses.
 */
export class NeutronServer {
  readonly url: string;
  readonly floatingIps = new Map<string, FloatingIp>();
  /** Called with the token of each request. Default: all tokens are valid. */
  isValid: (token: string | undefined) => Promise<boolean> = async () => true;
  readonly #server: Server;
  readonly #addresses: string[];

  static readonly EXTERNAL_SUBNET = '1d4b8f0c-6e0e-4d0a-9a4e-6a2f4a0c7b11';
  static readonly EXTERNAL_NETWORK = '2e5c9f1d-7f1f-4e1b-8b5f-7b3f5b1d8c22';
  static readonly OTHER_SUBNET = '3a6d0e2e-8a2a-4f2c-9c6a-8c4a6c2e9d33';
  static readonly OTHER_NETWORK = '4b7e1f3f-9b3b-4a3d-8d7b-9d5b7d3f0e44';

  static async start(addresses = ['172.24.4.14', '172.24.4.15']): Promise<NeutronServer> {
    let neutron: NeutronServer;
    const server = createServer((request, response) => void neutron.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    neutron = new NeutronServer(server, addresses);
    return neutron;
  }

  private constructor(server: Server, addresses: string[]) {
    this.#server = server;
    this.#addresses = addresses;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const token = request.headers['x-auth-token'];
    let status = 200;
    let body: unknown;
    try {
      if (!(await this.isValid(typeof token === 'string' ? token : undefined)))
        throw new Refusal(401, 'Unauthorized', 'The request you have made requires authentication.');
      ({ status, body } = this.#answer(request.method ?? '', new URL(request.url ?? '', this.url), text));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      status = error.status;
      body = { NeutronError: { type: error.type, message: error.message, detail: '' } };
    }
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  #answer(method: string, { pathname, searchParams }: URL, text: string): { status: number; body?: unknown } {
    const [, version, kind, id, ...rest] = pathname.split('/');
    if (version !== 'v2.0' || rest.length > 0)
      throw new Refusal(404, 'HTTPNotFound', 'The resource could not be found.');
    if (kind === 'subnets' && method === 'GET') {
      const network = NETWORKS.get(`${id}`);
      if (network === undefined) throw new Refusal(404, 'SubnetNotFound', `Subnet ${id} could not be found.`);
      return { status: 200, body: { subnet: { id, network_id: network } } };
    }
    if (kind !== 'floatingips') throw new Refusal(404, 'HTTPNotFound', 'The resource could not be found.');
    if (id === undefined) {
      if (method === 'GET') return { status: 200, body: { floatingips: this.#list(searchParams) } };
      if (method === 'POST')
        return { status: 201, body: { floatingip: this.#create(fieldsIn(text, CREATE)) } };
    } else {
      const found = this.floatingIps.get(id);
      if (found === undefined)
        throw new Refusal(404, 'FloatingIPNotFound', `Floating IP ${id} could not be found`);
      if (method === 'PUT') {
        const fields = fieldsIn(text, UPDATE);
        this.#checkPort({ ...found, ...fields });
        return { status: 200, body: { floatingip: Object.assign(found, fields) } };
      }
      if (method === 'DELETE') {
        this.floatingIps.delete(id);
        this.#addresses.push(found.floating_ip_address);
        return { status: 204 };
      }
    }
    throw new Refusal(405, 'HTTPMethodNotAllowed', 'The method is not allowed.');
  }

  #list(filters: URLSearchParams): FloatingIp[] {
    for (const name of filters.keys())
      if (!FILTERS.includes(name))
        throw new Refusal(400, 'HTTPBadRequest', `[${name}] is invalid attribute for filtering`);
    return [...this.floatingIps.values()].filter((each) =>
      [...filters].every(([name, value]) => name === 'limit' || each[name] === value),
    );
  }

  /** A port has at most one floating IP of a network. */
  #checkPort({
    id,
    port_id: port,
    floating_network_id: network,
    floating_ip_address: address,
  }: FloatingIp): void {
    const isTaken = [...this.floatingIps.values()].some(
      (each) => each.id !== id && each.port_id === port && each.floating_network_id === network,
    );
    if (port !== null && isTaken)
      throw new Refusal(
        409,
        'FloatingIPPortAlreadyAssociated',
        `Cannot associate floating IP ${address} with port ${port} using fixed IP 10.0.0.1, as that fixed IP already has a floating IP on external network ${network}.`,
      );
  }

  #create(fields: Record<string, unknown>): FloatingIp {
    const network = `${fields.floating_network_id}`;
    if (![...NETWORKS.values()].includes(network))
      throw new Refusal(404, 'NetworkNotFound', `Network ${network} could not be found.`);
    const [address] = this.#addresses.splice(0, 1);
    if (address === undefined)
      throw new Refusal(
        409,
        'IpAddressGenerationFailure',
        `No more IP addresses available on network ${network}.`,
      );
    const made: FloatingIp = {
      ...{ port_id: null, description: '', status: 'DOWN', project_id: PROJECT },
      ...fields,
      id: randomUUID(),
      floating_ip_address: address,
      floating_network_id: network,
    };
    this.#checkPort(made);
    this.floatingIps.set(made.id, made);
    return made;
  }
}

const NETWORKS = new Map([
  [NeutronServer.EXTERNAL_SUBNET, NeutronServer.EXTERNAL_NETWORK],
  [NeutronServer.OTHER_SUBNET, NeutronServer.OTHER_NETWORK],
]);

function fieldsIn(text: string, allowed: readonly string[]): Record<string, unknown> {
  const { floatingip } = JSON.parse(text) as { floatingip?: Record<string, unknown> };
  if (floatingip === undefined)
    throw new Refusal(400, 'HTTPBadRequest', "Unable to find 'floatingip' in request body");
  const unknown = Object.keys(floatingip).find((name) => !allowed.includes(name));
  if (unknown !== undefined)
    throw new Refusal(400, 'HTTPBadRequest', `Unrecognized attribute(s) '${unknown}'`);
  return floatingip;
}
