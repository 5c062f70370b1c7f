import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESSES,
  type KubeClient,
  NAMESPACES,
  SECRETS,
  SERVICES,
} from '@tidegate/kube';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import { ingress, secret, service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';

export const HOST = 'churn.example';
const SECRET = 'churn';
/** Each Service has one EndpointSlice per endpoint. The route changes between the Services. */
export const SERVICE_NAMES = ['web', 'shop', 'cart', 'till'] as const;
type ServiceName = (typeof SERVICE_NAMES)[number];

/** A host with its Services, endpoints and certificate, and methods to change each of them. */
export class Changes {
  readonly authority = new TestAuthority();
  readonly #client: KubeClient;
  readonly #ports: readonly number[];
  readonly #ready: Readonly<Record<ServiceName, boolean[]>>;
  #used: ServiceName = 'web';

  constructor(client: KubeClient, ports: readonly number[]) {
    this.#client = client;
    this.#ports = ports;
    const all = () => ports.map(() => true);
    this.#ready = { web: all(), shop: all(), cart: all(), till: all() };
  }

  async create(): Promise<void> {
    const client = this.#client;
    await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    for (const name of SERVICE_NAMES) {
      await client.create(SERVICES, service(name));
      for (const index of this.#ports.keys()) await client.create(ENDPOINT_SLICES, this.#slice(name, index));
    }
    await client.create(SECRETS, this.#secret());
    await client.create(INGRESSES, this.#ingress(0));
  }

  /** Ports of the endpoints that are in use after the last change. */
  get ready(): number[] {
    return this.#ports.filter((_, index) => this.#ready[this.#used][index]);
  }

  /**
   * Every other change is of the host under test: its route changes to the next Service. The others add and remove
   * hosts.
   */
  async changeRoute(count: number): Promise<void> {
    const name = `guest-${count}`;
    if (count % 2 === 0) await this.#client.update(INGRESSES, this.#ingress(count / 2));
    else if (count % 4 === 1)
      await this.#client.create(INGRESSES, ingress({ name, rules: { [`${name}.example/`]: 'web:http' } }));
    else await this.#client.delete(INGRESSES, { name: `guest-${count - 2}`, namespace: 'shop' });
  }

  /** Makes one endpoint ready or unready. At least one endpoint is always ready. */
  async changeEndpoint(name: ServiceName, count: number): Promise<void> {
    const ready = this.#ready[name];
    const isLast = ready.filter(Boolean).length === 1;
    const index = (count + (isLast && ready[count % ready.length] ? 1 : 0)) % ready.length;
    ready[index] = !ready[index];
    await this.#client.update(ENDPOINT_SLICES, this.#slice(name, index));
  }

  async changeCertificate(): Promise<void> {
    await this.#client.update(SECRETS, this.#secret());
  }

  #ingress(count: number) {
    this.#used = SERVICE_NAMES[count % SERVICE_NAMES.length] ?? 'web';
    const backend = `${this.#used}:http`;
    const rules = { [`${HOST}/`]: backend, [`${HOST}/path-${count}`]: backend };
    return ingress({ name: 'churn', rules, tls: [{ hosts: [HOST], secretName: SECRET }] });
  }

  #slice(name: ServiceName, index: number): EndpointSlice {
    const ports = { http: this.#ports[index] ?? 0 };
    return slice(
      name,
      { '127.0.0.1': { ready: this.#ready[name][index] } },
      { name: `${name}-${index}`, ports },
    );
  }

  #secret() {
    return secret(SECRET, this.authority.issue([HOST]));
  }
}
